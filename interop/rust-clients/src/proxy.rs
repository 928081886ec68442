//! A door between a client and the server that can be shut. It knows nothing of the protocol.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::harness::first;

#[derive(Default)]
struct State {
    shut: bool,
    open: Vec<TcpStream>,
}

pub struct Proxy {
    pub address: String,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address").to_string();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Refused by being dropped.
                let _ = join(&shared, client);
            }
        });
        Self { address, state }
    }

    /// Cuts what is open and refuses what comes.
    pub fn shut(&self) {
        let mut state = self.state.lock().expect("the proxy");
        state.shut = true;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn open(&self) {
        self.state.lock().expect("the proxy").shut = false;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shut();
    }
}

fn join(state: &Mutex<State>, client: TcpStream) -> io::Result<()> {
    let mut state = state.lock().expect("the proxy");
    if state.shut {
        return Ok(());
    }
    let server = TcpStream::connect(first())?;
    for (mut source, mut sink) in
        [(client.try_clone()?, server.try_clone()?), (server.try_clone()?, client.try_clone()?)]
    {
        std::thread::spawn(move || {
            let _ = io::copy(&mut source, &mut sink);
            let _ = source.shutdown(Shutdown::Both);
            let _ = sink.shutdown(Shutdown::Both);
        });
    }
    state.open.extend([client, server]);
    Ok(())
}
