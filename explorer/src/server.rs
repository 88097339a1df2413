//! The server: files of the page, and requests to the app.

use crate::{
    files::{self, File},
    guard::{self, Refusal},
};
use async_executor::LocalExecutor;
use async_io::{Async, Timer};
use futures_lite::FutureExt;
use http_body_util::{BodyExt, Full, Limited, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    client::conn::http1 as client,
    header::{self, HeaderValue},
    server::conn::http1 as server,
    service::service_fn,
};
use smol_hyper::rt::{FuturesIo, SmolTimer};
use std::{
    convert::Infallible,
    error::Error,
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    rc::Rc,
    time::Duration,
};

/// Where the page sends its requests.
const APP_PATH: &str = "/app";
/// The size of a request, in bytes.
const MAX_REQUEST: usize = 1 << 20;
/// How long an app has to accept a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// After a connection could not be accepted, for want of file handles, say.
const RETRY: Duration = Duration::from_millis(100);

/// What the page may load: files of this server, and nothing from elsewhere. The graph library writes a style element.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

type Body = BoxBody<Bytes, hyper::Error>;

/// A server of the page, which listens from its creation on.
///
/// ```
/// # use bevy_relations_explorer::Server;
/// # use std::net::{Ipv4Addr, SocketAddr};
/// let [any_port, app] = [0, 15702].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
/// let server = Server::bind(any_port, app)?;
/// assert_ne!(server.address().port(), 0);
/// println!("open {}", server.url());
/// std::thread::spawn(move || server.run());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: SocketAddr,
}

impl Server {
    /// Listens at `address`, for an app that listens at `app`, or will.
    ///
    /// # Errors
    /// If the address is taken, or not one of this machine.
    pub fn bind(address: SocketAddr, app: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, app })
    }

    /// Where it listens. If port 0 was given, it has the port that was found.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers requests until the program ends.
    ///
    /// # Errors
    /// If the listener cannot be used.
    pub fn run(self) -> io::Result<Infallible> {
        let listener = Async::new(self.listener)?;
        let executor = Rc::new(LocalExecutor::new());
        let place = Place { own: self.address, app: self.app };
        async_io::block_on(executor.run(async {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => executor.spawn(serve(stream, place, executor.clone())).detach(),
                    Err(_) => _ = Timer::after(RETRY).await,
                }
            }
        }))
    }
}

/// Who talks to whom.
#[derive(Clone, Copy)]
struct Place {
    own: SocketAddr,
    app: SocketAddr,
}

/// Answers the requests of a connection.
async fn serve(stream: Async<TcpStream>, place: Place, executor: Rc<LocalExecutor<'static>>) {
    let answer = service_fn(|request| {
        let executor = executor.clone();
        async move { Ok::<_, Infallible>(answer(request, place, &executor).await) }
    });
    let connection =
        server::Builder::new().timer(SmolTimer::new()).serve_connection(FuturesIo::new(stream), answer);
    // A browser that goes away is no error.
    let _ = connection.await;
}

async fn answer(
    request: Request<Incoming>,
    place: Place,
    executor: &LocalExecutor<'static>,
) -> Response<Body> {
    let host = match guard::check_host(request.headers(), place.own) {
        Ok(host) => host.to_owned(),
        Err(refusal) => return refuse(refusal),
    };
    match (request.method(), request.uri().path()) {
        (&Method::POST, APP_PATH) => match guard::check_caller(request.headers(), &host) {
            Ok(()) => ask(request, place.app, executor).await,
            Err(refusal) => refuse(refusal),
        },
        (&Method::GET | &Method::HEAD, path) => match files::find(path) {
            Some(file) => send(file),
            None => plain(StatusCode::NOT_FOUND, "There is no such file."),
        },
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "Files are read with GET, the app is asked with POST."),
    }
}

fn send(file: &File) -> Response<Body> {
    let mut response = plain(StatusCode::OK, file.text);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Another version of the program has other files.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}

fn refuse(refusal: Refusal) -> Response<Body> {
    plain(StatusCode::FORBIDDEN, refusal.message())
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let body = Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {});
    let mut response = Response::new(BoxBody::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Passes a request on to the app, and streams the answer.
async fn ask(
    request: Request<Incoming>,
    app: SocketAddr,
    executor: &LocalExecutor<'static>,
) -> Response<Body> {
    let Ok(body) = Limited::new(request.into_body(), MAX_REQUEST).collect().await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large.");
    };
    match pass_on(body.to_bytes(), app, executor).await {
        Ok(answer) => {
            let mut response = Response::new(BoxBody::new(answer.into_body()));
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(_) => plain(StatusCode::BAD_GATEWAY, "The app does not answer."),
    }
}

async fn pass_on(
    body: Bytes,
    app: SocketAddr,
    executor: &LocalExecutor<'static>,
) -> Result<Response<Incoming>, Box<dyn Error + Send + Sync>> {
    let late = async {
        Timer::after(CONNECT).await;
        Err(io::ErrorKind::TimedOut.into())
    };
    let stream = Async::<TcpStream>::connect(app).or(late).await?;
    let (mut sender, connection) = client::handshake(FuturesIo::new(stream)).await?;
    // It ends when the answer has been read, or is not wanted any more.
    executor.spawn(async { _ = connection.await }).detach();
    let request = Request::post("/")
        .header(header::HOST, app.to_string())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))?;
    Ok(sender.send_request(request).await?)
}
