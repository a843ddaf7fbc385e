//! Starting and stopping the server, and talking to it from the same process.

use std::{
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use super::{
    connection::{ConnectionControl, ControlledStream},
    control::{control, is_control_route},
    response::{PendingResponse, ReplyBody},
    served_request::{ReceivedRequest, serve},
    state::{ServerState, Settings},
};
use crate::{
    journal::JournalEntry, model::Model, observer::Observer, script::Script,
    verification::VerificationError,
};

const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Settings of a server that is about to start.
#[derive(Default)]
pub struct MockMessagesApiBuilder {
    address: Option<SocketAddr>,
    settings: Settings,
}

impl MockMessagesApiBuilder {
    /// Listens on `address` instead of a free port of 127.0.0.1.
    #[must_use]
    pub fn bind(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Accepts only this API key, and says in the journal whether a request had it. Without it any key is accepted.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.settings.expected_key = Some(key.into());
        self
    }

    /// Has every step of every request seen by an observer.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.settings.observer = Some(observer);
        self
    }

    /// Writes each journal entry as a line of JSON once its response is over.
    #[must_use]
    pub fn journal_sink(mut self, sink: impl Write + Send + 'static) -> Self {
        self.settings.journal_sink = Some(Mutex::new(Box::new(sink)));
        self
    }

    /// Makes dropping the server panic when any session departed from its script, for tests without a check of their own.
    #[must_use]
    pub fn verify_on_drop(mut self) -> Self {
        self.settings.verify_on_drop = true;
        self
    }

    /// Adds a model. Once there is one, a request for any other gets the 404 of the real API, and the model's limits
    /// are kept; without any, every name is a model without limits.
    #[must_use]
    pub fn model(mut self, model: Model) -> Self {
        self.settings.models.push(model);
        self
    }

    /// Serves the control routes below `/__mock/` too, through which any client can read the journal and change
    /// the scripts.
    #[must_use]
    pub fn control_routes(mut self) -> Self {
        self.settings.control_routes = true;
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(self) -> io::Result<MockMessagesApi> {
        let address = self
            .address
            .unwrap_or_else(|| (IpAddr::from(Ipv4Addr::LOCALHOST), 0).into());
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(ServerState::new(self.settings));
        let acceptor = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(MockMessagesApi {
            address,
            state,
            acceptor,
        })
    }
}

/// A running server. Dropping it stops it and closes its connections.
pub struct MockMessagesApi {
    address: SocketAddr,
    state: Arc<ServerState>,
    acceptor: JoinHandle<()>,
}

impl MockMessagesApi {
    /// Settings for a server.
    #[must_use]
    pub fn builder() -> MockMessagesApiBuilder {
        MockMessagesApiBuilder::default()
    }

    /// Starts a server on a free port of 127.0.0.1 that accepts any key.
    ///
    /// # Errors
    /// When no port can be listened on.
    pub async fn start() -> io::Result<Self> {
        Self::builder().start().await
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Mounts a script for a session, in place of the one it had; its journal starts anew.
    ///
    /// The empty name is the root, whose requests have no prefix.
    pub fn mount(&self, session: &str, script: Script) {
        self.state.mount(session, script);
    }

    /// Forgets a session and its journal; says whether there was one.
    pub fn unmount(&self, session: &str) -> bool {
        self.state.unmount(session)
    }

    /// The base URL of the session with the empty name.
    #[must_use]
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL of a session for one of its clients, whose label the journal and the observer then show.
    #[must_use]
    pub fn base_url(&self, session: &str, client: &str) -> String {
        let segment = |text| utf8_percent_encode(text, UNRESERVED).to_string();
        format!(
            "http://{}/{}/{}",
            self.address,
            segment(session),
            segment(client)
        )
    }

    /// Every request of a session so far, in the order of arrival.
    #[must_use]
    pub fn journal(&self, session: &str) -> Vec<JournalEntry> {
        self.state.journal(session)
    }

    /// Every request of every session so far.
    #[must_use]
    pub fn whole_journal(&self) -> Vec<JournalEntry> {
        self.state.whole_journal()
    }

    /// Waits until no response of a session is under way, so that the journal tells how each of them ended.
    pub async fn settled(&self, session: &str) {
        self.state.settled(session).await;
    }

    /// Stops the server, closes its connections, and waits until every response has ended and is in the journal.
    pub async fn stop(self) {
        self.acceptor.abort();
        self.state.all_settled().await;
    }

    /// Checks that a session went as its script says.
    ///
    /// # Errors
    /// When a request was answered by no exchange or refused, an expectation failed, or an exchange that is not
    /// optional was never asked for.
    pub fn verify(&self, session: &str) -> Result<(), VerificationError> {
        self.state.verify(session)
    }
}

impl Drop for MockMessagesApi {
    fn drop(&mut self) {
        self.acceptor.abort();
        if self.state.settings.verify_on_drop && !std::thread::panicking() {
            let departures: Vec<_> = self
                .state
                .verify_all()
                .iter()
                .map(ToString::to_string)
                .collect();
            assert!(departures.is_empty(), "{}", departures.join("\n"));
        }
    }
}

const ACCEPT_BACKOFF: Duration = Duration::from_millis(10);

async fn accept(listener: TcpListener, state: Arc<ServerState>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve_connection(stream, Arc::clone(&state)));
            }
            Err(error) => {
                // Out of file descriptors, for instance, which only the end of other connections can mend.
                tracing::warn!(%error, "failed to accept a connection");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, state: Arc<ServerState>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "failed to set TCP_NODELAY");
    }
    let control = ConnectionControl::new();
    let service = service_fn(|request| respond(Arc::clone(&state), Arc::clone(&control), request));
    let stream = TokioIo::new(ControlledStream::new(stream, Arc::clone(&control)));
    let connection = http1::Builder::new()
        .auto_date_header(false)
        .serve_connection(stream, service);
    tokio::select! {
        ended = connection => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        }
        () = control.is_cut() => {}
    }
}

async fn respond(
    state: Arc<ServerState>,
    connection: Arc<ConnectionControl>,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, ResponseGone> {
    let (parts, body) = request.into_parts();
    let body = read(body).await?;
    let received = ReceivedRequest {
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
        body,
    };
    let (pending, head) = PendingResponse::new(connection);
    if state.settings.control_routes && is_control_route(&received.uri) {
        let reply = control(&state, &received);
        tokio::spawn(pending.send_json(reply.status, reply.body));
        return head.await.map_err(|_| ResponseGone);
    }
    // A task of its own, so that the journal is kept when the client leaves and this future is dropped.
    tokio::spawn(serve(state, received, pending));
    head.await.map_err(|_| ResponseGone)
}

/// The largest request that the API accepts, in bytes.
const LARGEST_BODY: usize = 32 * 1024 * 1024;

/// Reads a body to its end; answers none when it is too large.
async fn read(mut body: Incoming) -> Result<Option<Bytes>, ResponseGone> {
    let mut bytes = BytesMut::new();
    let mut is_too_large = false;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| ResponseGone)?.into_data() else {
            continue;
        };
        // The rest is read all the same, so that the client is done sending when it gets its answer.
        is_too_large |= bytes.len() + data.len() > LARGEST_BODY;
        if !is_too_large {
            bytes.extend_from_slice(&data);
        }
    }
    Ok((!is_too_large).then(|| bytes.freeze()))
}

/// There is no response to send: the client left in the middle of its request, or the connection is being cut.
#[derive(Debug, thiserror::Error)]
#[error("no response to send")]
struct ResponseGone;
