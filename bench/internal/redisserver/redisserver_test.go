package redisserver

import "testing"

func TestParseInfo(t *testing.T) {
	got := parseInfo("# Memory\r\nused_memory:1048576\r\nused_memory_rss:9\r\n# Commandstats\r\n" +
		"cmdstat_evalsha:calls=10,usec=5\r\ncmdstat_info:calls=3,usec=5\r\ncmdstat_client|setinfo:calls=2,usec=1\r\n")
	if want := (Stats{Commands: 12, Memory: 1048576}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOfClient(t *testing.T) {
	for line, want := range map[string]bool{
		`+1796049255.123456 [0 127.0.0.1:4242] "evalsha" "abc" "0"`: true,
		`+1796049255.123457 [0 lua] "zrange" "k"`:                   false,
		`+1796049255.123457 [0 unix:/tmp/s] "ping"`:                 true,
		`+1796049255.123458 [0 127.0.0.1:4242] "info" "memory"`:     false,
		`+OK`: false,
	} {
		if got := ofClient(line); got != want {
			t.Errorf("%s: got %v", line, got)
		}
	}
}
