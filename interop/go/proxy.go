package main

import (
	"io"
	"net"
	"sync"
)

// proxy is a door between a client and the server that can be shut. It knows nothing of the protocol.
type proxy struct {
	address  string
	listener net.Listener
	lock     sync.Mutex
	closed   bool
	open     map[net.Conn]bool
}

func (t *T) proxy() *proxy {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	p := &proxy{address: listener.Addr().String(), listener: listener, open: map[net.Conn]bool{}}
	t.closing(func() {
		p.shut()
		listener.Close()
	})
	go p.accept()
	return p
}

// shut cuts what is open and refuses what comes.
func (p *proxy) shut() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.closed = true
	for conn := range p.open {
		conn.Close()
	}
	p.open = map[net.Conn]bool{}
}

func (p *proxy) reopen() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.closed = false
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if !p.connect(client) {
			client.Close()
		}
	}
}

func (p *proxy) connect(client net.Conn) bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.closed {
		return false
	}
	server, err := net.Dial("tcp", connect)
	if err != nil {
		return false
	}
	p.open[client], p.open[server] = true, true
	for source, sink := range map[net.Conn]net.Conn{client: server, server: client} {
		go func(source, sink net.Conn) {
			_, _ = io.Copy(sink, source)
			source.Close()
			sink.Close()
		}(source, sink)
	}
	return true
}
