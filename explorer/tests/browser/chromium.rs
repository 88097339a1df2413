//! A browser without a window, driven by the protocol of its developer tools.

use crate::common::PATIENCE;
use serde_json::{Value, json};
use std::{
    env, fs,
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use tungstenite::{Message, WebSocket};

/// Where a browser may be.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A page in a browser of its own.
pub(crate) struct Page {
    browser: Child,
    profile: PathBuf,
    socket: WebSocket<TcpStream>,
    last: u64,
    /// What went wrong in the page.
    pub(crate) problems: Vec<String>,
}

/// The browser that `CHROMIUM` names, or one that is installed.
fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let paths = env::var_os("PATH")?;
    let mut all = env::split_paths(&paths).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    all.find(|path| path.is_file())
}

impl Page {
    /// Opens a page. `None`, with a message, if there is no browser.
    pub(crate) fn open(url: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Some(program) = program() else {
            println!("There is no Chromium: nothing is tested here. `CHROMIUM` names one.");
            return None;
        };
        let name = format!("explorer-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let profile = env::temp_dir().join(name);
        let mut command = Command::new(program);
        command.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1280,800",
        ]);
        command.args(["--no-first-run", "--disable-extensions", "--disable-background-networking"]);
        command.arg("--remote-debugging-port=0").arg(format!("--user-data-dir={}", profile.display()));
        let browser = command.arg("about:blank").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let browser = browser.expect("the browser starts");
        let port = wait("the browser does not listen", || {
            let text = fs::read_to_string(profile.join("DevToolsActivePort")).ok()?;
            text.lines().next()?.parse::<u16>().ok()
        });
        let target = wait("the browser has no page", || {
            let list = ureq::get(format!("http://127.0.0.1:{port}/json/list")).call().ok()?.into_body();
            let list: Value = serde_json::from_reader(list.into_reader()).ok()?;
            let page = list.as_array()?.iter().find(|target| target["type"] == "page")?;
            Some(page["webSocketDebuggerUrl"].as_str()?.to_owned())
        });
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the browser listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a stream has a timeout");
        let (socket, _) = tungstenite::client(target, stream).expect("the browser speaks its protocol");
        let mut page = Self { browser, profile, socket, last: 0, problems: Vec::new() };
        for domain in ["Page", "Runtime", "Log"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        let size = json!({ "width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        page.call("Emulation.setDeviceMetricsOverride", size);
        page.call("Page.navigate", json!({ "url": url }));
        page.until("document.querySelector('#state')?.classList.contains('on')");
        Some(page)
    }

    /// Calls a method of the protocol.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let request = json!({ "id": id, "method": method, "params": params }).to_string();
        self.socket.send(Message::text(request)).expect("the browser listens");
        loop {
            let message = self.socket.read().expect("the browser answers");
            let Message::Text(text) = message else { continue };
            let message: Value = serde_json::from_str(&text).expect("JSON");
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        let problem = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => &params["exceptionDetails"],
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => &params["entry"],
            Some("Runtime.consoleAPICalled") if params["type"] == "error" => &params["args"],
            _ => return,
        };
        self.problems.push(problem.to_string());
    }

    /// The value of an expression in the page, which may be a promise.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true, and returns how long that took.
    #[track_caller]
    pub(crate) fn until(&mut self, expression: &str) -> Duration {
        let start = Instant::now();
        while self.eval(&format!("!!({expression})")) != true {
            if start.elapsed() > PATIENCE {
                let body = self.eval("document.body.innerText");
                panic!("this does not get true: {expression}\n{body}\n{:?}", self.problems);
            }
            thread::sleep(Duration::from_millis(10));
        }
        start.elapsed()
    }

    pub(crate) fn click(&mut self, selector: &str) {
        self.until(&format!("document.querySelector({})", json!(selector)));
        self.eval(&format!("document.querySelector({}).click()", json!(selector)));
    }

    /// Presses a key, and releases it.
    pub(crate) fn key(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            _ if key.chars().count() == 1 => key,
            _ => "",
        };
        // What has the code 0 is no key to elements that act on some by themselves.
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let params = json!({ "type": down, "key": key, "text": text, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", params);
        self.call(
            "Input.dispatchKeyEvent",
            json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code }),
        );
    }

    /// Writes a text in place of what a field has, by keys.
    pub(crate) fn write(&mut self, selector: &str, text: &str) {
        self.until(&format!("document.querySelector({})", json!(selector)));
        self.eval(&format!(
            "(() => {{ const e = document.querySelector({}); e.focus(); e.select(); }})()",
            json!(selector)
        ));
        self.call("Input.insertText", json!({ "text": text }));
    }

    pub(crate) fn text(&mut self, selector: &str) -> String {
        let value = self.eval(&format!("document.querySelector({})?.innerText ?? ''", json!(selector)));
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Saves a picture in the folder that `EXPLORER_SCREENSHOTS` names, if it does.
    pub(crate) fn screenshot(&mut self, name: &str) {
        let Some(folder) = env::var_os("EXPLORER_SCREENSHOTS") else { return };
        thread::sleep(Duration::from_millis(1200));
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = decode(picture["data"].as_str().expect("a text"));
        fs::write(PathBuf::from(folder).join(name), bytes).expect("the folder can be written to");
    }
}

/// Bytes of a text in base 64.
fn decode(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| DIGITS.iter().position(|&digit| digit == byte));
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        bits = bits << 6 | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

fn wait<T>(problem: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{problem}");
        thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
        let _ = fs::remove_dir_all(&self.profile);
        if !thread::panicking() {
            assert_eq!(self.problems, Vec::<String>::new(), "nothing goes wrong in the page");
        }
    }
}
