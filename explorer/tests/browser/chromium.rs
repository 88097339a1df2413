//! Chromium without a window, spoken to by the protocol of its developer tools.

use crate::common;
use serde_json::{Value, json};
use std::{
    env,
    fs::{self, File},
    io::ErrorKind,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio, id},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};
use tungstenite::{Message, WebSocket};

/// How long anything may take, where a browser shares the machine with others. What goes well takes no longer for it.
pub(crate) const PATIENCE: Duration = common::PATIENCE.saturating_mul(4);

/// Delays each answer of the app, so that answers come out of order.
const LATE: &str = "{
  const send = window.fetch;
  window.fetch = async (...request) => {
    const answer = await send(...request);
    await new Promise((done) => setTimeout(done, 700 * Math.random()));
    return answer;
  };
}";

/// The program, if it is there.
fn program() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM");
    let names = named.clone().map_or(vec!["chromium".into(), "chromium-browser".into()], |name| vec![name]);
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    // A name with a slash stays as it is when it is joined.
    let mut places = names.iter().flat_map(|name| {
        let own = Path::new(name).is_absolute().then(|| PathBuf::from(name));
        own.into_iter().chain(folders.iter().map(move |folder| folder.join(name)))
    });
    let found = places.find(|place| place.is_file());
    assert!(found.is_some() || named.is_none(), "CHROMIUM names {named:?}, which is not there");
    found
}

/// A browser that ends with the test.
struct Browser {
    child: Child,
    folder: PathBuf,
}

impl Browser {
    fn start(program: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("bevy_relations_explorer-{}-{number}", id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        let log = File::create(folder.join("log")).expect("a file can be made");
        let child = Command::new(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
            .args(["--remote-debugging-port=0", "--window-size=1280,800"])
            .arg(format!("--user-data-dir={}", folder.display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("chromium starts");
        Self { child, folder }
    }

    /// Where its developer tools listen.
    fn address(&self) -> SocketAddr {
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(self.folder.join("DevToolsActivePort")).unwrap_or_default();
            if let Some(port) = text.lines().next().and_then(|port| port.parse().ok()) {
                return SocketAddr::from(([127, 0, 0, 1], port));
            }
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(start.elapsed() < PATIENCE, "chromium does not listen: {}", log());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Its other processes end a moment later, and may write until then.
        for _ in 0..20 {
            match fs::remove_dir_all(&self.folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => thread::sleep(Duration::from_millis(50)),
                _ => return,
            }
        }
    }
}

/// A page of a browser of its own.
pub(crate) struct Tab {
    socket: WebSocket<TcpStream>,
    last: u64,
    /// What went wrong in the page by itself: exceptions, and errors in the console.
    problems: Vec<String>,
    _browser: Browser,
}

impl Tab {
    /// Opens an empty page. `None`, after saying so, if there is no Chromium.
    pub(crate) fn open() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("there is no chromium on the PATH: the page is not tested in a browser");
            return None;
        };
        let browser = Browser::start(&program);
        let address = browser.address();
        let opened = ureq::put(&format!("http://{address}/json/new?about:blank")).send_empty();
        let text = opened.expect("a page opens").body_mut().read_to_string().expect("a text");
        let opened: Value = serde_json::from_str(&text).expect("JSON");
        let url = opened["webSocketDebuggerUrl"].as_str().expect("the page has an address").to_owned();
        let stream = TcpStream::connect(address).expect("chromium listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let (socket, _) = tungstenite::client(url, stream).expect("chromium speaks");
        let mut tab = Self { socket, last: 0, problems: Vec::new(), _browser: browser };
        for part in ["Page", "Runtime", "Log"] {
            tab.call(&format!("{part}.enable"), json!({}));
        }
        let size = json!({ "width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        tab.call("Emulation.setDeviceMetricsOverride", size);
        if env::var_os("EXPLORER_SLOW").is_some() {
            tab.call("Emulation.setCPUThrottlingRate", json!({ "rate": 8 }));
            tab.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": LATE }));
        }
        Some(tab)
    }

    /// Calls a method of the protocol.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The same for a method that may fail.
    fn try_call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last += 1;
        let request = json!({ "id": self.last, "method": method, "params": params });
        self.socket.send(Message::text(request.to_string())).expect("chromium reads");
        loop {
            let message = self.socket.read().expect("chromium answers");
            let Message::Text(text) = message else { continue };
            let message: Value = serde_json::from_str(&text).expect("JSON");
            if message["id"] == self.last {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        let is_problem = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => params["entry"]["level"] == "error",
            Some("Runtime.consoleAPICalled") => params["type"] == "error",
            _ => false,
        };
        if is_problem {
            self.problems.push(params.to_string());
        }
    }

    /// What went wrong so far.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        // Events come before the answer to this.
        self.eval("1");
        std::mem::take(&mut self.problems)
    }

    /// The value of an expression, which may be a promise.
    pub(crate) fn eval(&mut self, script: &str) -> Value {
        self.try_eval(script).unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// The same, of a page that may be about to give way to another.
    fn try_eval(&mut self, script: &str) -> Result<Value, Value> {
        let params = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let answer = self.try_call("Runtime.evaluate", params)?;
        assert!(answer.get("exceptionDetails").is_none(), "{script}: {}", answer["exceptionDetails"]);
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, script: &str) {
        let start = Instant::now();
        while self.try_eval(&format!("Boolean({script})")) != Ok(Value::Bool(true)) {
            if start.elapsed() > PATIENCE {
                let text = self.eval("document.body.innerText");
                panic!("this does not come: {script}\n{}\n{:?}", text.as_str().unwrap_or(""), self.problems);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks an element where it is on the screen, as a hand would. If it moves between the look and the click, nothing is
    /// clicked, and it is looked for again.
    pub(crate) fn click(&mut self, element: &str) {
        let start = Instant::now();
        loop {
            self.until(&format!("{element}?.getBoundingClientRect().width"));
            let place = self.eval(&format!(
                "(() => {{
                  const find = () => {element};
                  const guard = (event) => {{
                    const isHit = Boolean(find()?.contains(event.target));
                    if (event.type === 'click') window.isHit = isHit;
                    if (isHit) return;
                    event.preventDefault();
                    event.stopImmediatePropagation();
                  }};
                  window.isHit = false;
                  window.guard = new AbortController();
                  for (const kind of ['mousedown', 'mouseup', 'click'])
                    addEventListener(kind, guard, {{ capture: true, signal: window.guard.signal }});
                  find()?.scrollIntoView({{ block: 'nearest' }});
                  const r = find()?.getBoundingClientRect() ?? new DOMRect();
                  return [r.x + r.width / 2, r.y + r.height / 2];
                }})()"
            ));
            for kind in ["mousePressed", "mouseReleased"] {
                let mouse =
                    json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
                self.call("Input.dispatchMouseEvent", mouse);
            }
            if self.eval("window.guard.abort(), window.isHit") == Value::Bool(true) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "something else is in the way of a click: {element}");
        }
    }

    /// Presses a key such as `Enter`, `ArrowDown` or `e`.
    pub(crate) fn press(&mut self, key: &str) {
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
        let mut down = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
        let text = if key == "Enter" { "\r" } else { key };
        if text.chars().count() == 1 {
            down["text"] = text.into();
        }
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", up);
    }

    /// Writes into what has the focus, in place of what is there.
    pub(crate) fn write(&mut self, text: &str) {
        self.eval("document.activeElement.select()");
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// A picture of the page, as the bytes of a PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        base64(answer["data"].as_str().expect("a picture"))
    }
}

/// The bytes that are written in base 64.
fn base64(text: &str) -> Vec<u8> {
    let digit = |character| match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> =
        text.bytes().filter(|&character| character != b'=').map(|c| u32::from(digit(c))).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = four.iter().enumerate().fold(0, |bits, (place, digit)| bits | digit << (18 - 6 * place));
        bits.to_be_bytes().into_iter().skip(1).take(four.len() - 1)
    });
    bytes.collect()
}
