//! One server of queues: a RabbitMQ, or an ActiveMQ.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use tools_process::{Service, meter, ports};

use crate::PeerError;
use crate::peer::{Queues, RabbitMq};

/// How long a server may take until clients can connect: a cold one on a busy machine needs most of it.
const START_DEADLINE: Duration = Duration::from_secs(90);
const CONNECT_DEADLINE: Duration = Duration::from_secs(1);

/// Which program serves.
#[derive(Clone, Debug)]
pub enum QueueSoftware {
    /// RabbitMQ.
    RabbitMq(RabbitMq),
    /// ActiveMQ Classic with the store KahaDB.
    ActiveMq {
        /// The program.
        queues: Queues,
        /// The heap limit, MiB.
        heap_mb: u32,
        /// Whether its journal is flushed before a message is acknowledged.
        is_flushed: bool,
    },
}

/// A running server. Dropping it kills its processes.
#[derive(Debug)]
pub struct QueueServer {
    address: SocketAddr,
    service: Service,
    /// RabbitMQ's daemon for names.
    _names: Option<Service>,
}

impl QueueServer {
    /// Starts a server with its data in `folder/data`, and waits until clients can connect.
    ///
    /// # Errors
    /// The files cannot be written, or a program ends or stays silent.
    pub fn start(software: &QueueSoftware, folder: &Path) -> Result<Self, PeerError> {
        let data = folder.join("data");
        fs::create_dir_all(&data).map_err(PeerError::io(&data))?;
        let [client, names, others] = ports::free().map_err(PeerError::io("a port"))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, client));
        let log = folder.join("log");
        let (service, names) = match software {
            QueueSoftware::RabbitMq(package) => {
                let daemon = Service::start("epmd", package.names(names), &folder.join("names.log"))?;
                let command = package.server(folder, address, names, others)?;
                (Service::start("rabbitmq", command, &log)?, Some(daemon))
            }
            QueueSoftware::ActiveMq { queues, heap_mb, is_flushed } => {
                let command = queues.broker(*heap_mb, address, &data, *is_flushed);
                (Service::start("activemq", command, &log)?, None)
            }
        };
        let mut server = Self { address, service, _names: names };
        server.wait_until_serving()?;
        Ok(server)
    }

    /// SIGTERM, then waits until the server is gone.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self) -> Result<(), PeerError> {
        Ok(self.service.stop()?)
    }

    /// Starts it again over the same folder and port, and waits until clients can connect.
    ///
    /// # Errors
    /// As [`QueueServer::start`].
    pub fn restart(&mut self) -> Result<(), PeerError> {
        self.service.start_again()?;
        self.wait_until_serving()
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All its processes: some are programs that others start.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        meter::processes_of_group(self.service.id())
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.service.has_ended()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        self.service.log_tail()
    }

    fn wait_until_serving(&mut self) -> Result<(), PeerError> {
        let address = self.address;
        let connects = || TcpStream::connect_timeout(&address, CONNECT_DEADLINE).is_ok();
        Ok(self.service.wait_until(START_DEADLINE, connects)?)
    }
}
