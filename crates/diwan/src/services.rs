//! The services of this process: the council, live objects, and the log on the council. They start in this order and stop in
//! the other one.
//!
//! The log needs a council that serves, so it starts on a thread of its own, once the council does: at once if the council is
//! alone, otherwise when a majority of its members is there. If either of them fails, the other one is stopped, too.
//!
//! The objects' members are those of the council, and follow it. If they fail here, the rest goes on: a call that brings a
//! member of the objects down must not take the council with it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use council_service::Server;
use log_service::{LogConfig, LogServer};
use objects_service::Server as ObjectsServer;

use crate::broker::{BrokerFigures, from_here};

/// How often it is looked whether a member serves.
const LOOK: Duration = Duration::from_millis(20);
/// How often the objects are told who the council's members are, and the files of their certificates are looked at.
const FOLLOW: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Services {
    council: Option<Server>,
    objects: Option<ObjectsServer>,
    stopping: AtomicBool,
    log: Mutex<Log>,
    changed: Condvar,
}

/// How far the log is.
enum Log {
    /// It is not served, or has ended.
    None,
    /// It waits for the council, or is being started.
    Starting,
    /// It serves.
    Serving(Arc<LogServer>),
    /// It has failed.
    Failed(String),
    /// It is asked to stop, or must not start.
    Stopped,
}

/// What is told once a service serves.
#[derive(Clone, Debug)]
pub(crate) enum Ready {
    /// The council does.
    Council,
    /// The log does, at that address, with its data there.
    Log(SocketAddr, PathBuf),
}

/// Who is told.
pub(crate) type Tell = Box<dyn Fn(&Services, Ready) + Send>;

impl Services {
    /// Of a council and objects that have started, and a log that is to be started.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(
        council: Option<Server>,
        objects: Option<ObjectsServer>,
        log: Option<LogConfig>,
        tell: Tell,
    ) -> io::Result<Arc<Self>> {
        let first = if log.is_some() { Log::Starting } else { Log::None };
        let stopping = AtomicBool::new(false);
        let (log_state, changed) = (Mutex::new(first), Condvar::new());
        let services = Arc::new(Self { council, objects, stopping, log: log_state, changed });
        let running = Arc::clone(&services);
        if services.objects.is_some() {
            let watching = Arc::clone(&services);
            std::thread::Builder::new()
                .name(String::from("objects"))
                .spawn(move || watching.watch_objects())?;
        }
        std::thread::Builder::new()
            .name(String::from("services"))
            .spawn(move || running.go_on(log, &tell))?;
        Ok(services)
    }

    /// The council.
    pub(crate) const fn council(&self) -> Option<&Server> {
        self.council.as_ref()
    }

    /// Live objects.
    pub(crate) const fn objects(&self) -> Option<&ObjectsServer> {
        self.objects.as_ref()
    }

    /// Says when the objects are served, and tells them who the council's members are, until all stops.
    fn watch_objects(&self) {
        let (Some(objects), Some(council)) = (&self.objects, &self.council) else { return };
        let mut is_told = false;
        while !self.stopping.load(Ordering::SeqCst) {
            if objects.has_ended() {
                return tracing::error!(
                    "the objects of this member have failed, and are not served any more; all else goes on; hint: the \
                     lines above say why; start the server again"
                );
            }
            if !is_told && objects.is_serving() {
                tracing::info!(http = %objects.address(), "objects are ready");
                is_told = true;
            }
            if council.is_serving() {
                objects.want(council.members());
            }
            objects.reload_if_changed();
            std::thread::sleep(if is_told { FOLLOW } else { LOOK });
        }
    }

    /// Has the certificates read again.
    pub(crate) fn reload(&self) {
        if let Some(council) = &self.council {
            council.reload();
        }
        if let Some(objects) = &self.objects {
            objects.reload();
        }
        let serving = match &*self.lock() {
            Log::Serving(server) => Some(Arc::clone(server)),
            Log::None | Log::Starting | Log::Failed(_) | Log::Stopped => None,
        };
        if let Some(server) = serving {
            server.reload();
        }
    }

    /// Waits until all of them have stopped.
    ///
    /// # Errors
    /// The fault that stopped one of them, and so all.
    pub(crate) fn wait(&self) -> Result<(), String> {
        let council = self.council.as_ref().map_or(Ok(()), Server::wait);
        if self.council.is_some() {
            self.stop_log();
        }
        self.stop_objects();
        let mut log = self.lock();
        loop {
            match &*log {
                Log::Failed(why) => return Err(why.clone()),
                Log::None | Log::Stopped => break,
                Log::Starting | Log::Serving(_) => {
                    log = self.changed.wait(log).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
        council.map_err(|fault| fault.to_string())
    }

    /// Stops them: the log, the objects, then the council.
    pub(crate) fn stop(&self) {
        self.stop_log();
        self.stop_objects();
        if let Some(council) = &self.council {
            council.stop();
        }
    }

    fn stop_objects(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        if let Some(objects) = &self.objects {
            objects.stop();
        }
    }

    /// A log that is being started ends as soon as it has started, or when its council is gone.
    fn stop_log(&self) {
        let serving = {
            let mut log = self.lock();
            match &*log {
                Log::Failed(_) => return,
                Log::Serving(server) => Some(Arc::clone(server)),
                Log::None | Log::Starting | Log::Stopped => {
                    *log = Log::Stopped;
                    None
                }
            }
        };
        if let Some(server) = serving {
            server.stop();
        }
        self.set(Log::Stopped);
    }

    /// Waits for the council, then starts the log and waits for its end.
    fn go_on(&self, log: Option<LogConfig>, tell: &Tell) {
        if let Some(council) = &self.council {
            while !council.is_serving() {
                std::thread::sleep(LOOK);
                if matches!(*self.lock(), Log::Stopped) {
                    return;
                }
            }
            tell(self, Ready::Council);
        }
        let Some(mut config) = log else { return };
        if let Some(address) =
            self.council.as_ref().and_then(Server::client_addr).filter(|_| config.council.is_empty())
        {
            config.council = from_here(address).to_string();
        }
        let ended = match self.serve_log(config, tell) {
            Ok(()) => Log::None,
            Err(why) => Log::Failed(why),
        };
        {
            let mut log = self.lock();
            if matches!(*log, Log::Stopped) {
                return;
            }
            *log = ended;
        }
        self.changed.notify_all();
        if let Some(council) = &self.council {
            council.stop();
        }
    }

    fn serve_log(&self, config: LogConfig, tell: &Tell) -> Result<(), String> {
        let directory = config.directory.clone();
        let server = Arc::new(LogServer::start(config).map_err(|error| error.to_string())?);
        {
            let mut log = self.lock();
            if matches!(*log, Log::Stopped) {
                drop(log);
                server.stop();
                return Ok(());
            }
            *log = Log::Serving(Arc::clone(&server));
        }
        if let Some(council) = &self.council {
            council.registry().register(Arc::new(BrokerFigures(Arc::downgrade(&server))));
        }
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        tell(self, Ready::Log(server.address(), directory));
        server.wait().map_err(|fault| fault.to_string())
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, log: Log) {
        *self.lock() = log;
        self.changed.notify_all();
    }
}
