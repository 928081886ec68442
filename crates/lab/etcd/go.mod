module diwan/lab/etcd

go 1.24

require (
	github.com/HdrHistogram/hdrhistogram-go v1.1.2
	go.etcd.io/etcd/client/v3 v3.6.5
)
