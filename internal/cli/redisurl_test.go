package cli

import (
	"strings"
	"testing"
)

func TestParseRedisURL(t *testing.T) {
	for _, tt := range []struct{ url, kind, shown string }{
		{"redis://127.0.0.1:6379/0", "single", "redis://127.0.0.1:6379/0"},
		{"redis://user:secret@host:7000/3?pool_size=4", "single", "redis://host:7000/3"},
		{"rediss://:secret@host", "single", "rediss://host"},
		{"redis://:p%40ss%2Fw%23rd@host/1", "single", "redis://host/1"},
		{"redis://[::1]:6379/0", "single", "redis://[::1]:6379/0"},
		{"unix:///run/redis.sock?db=2", "single", "unix:///run/redis.sock"},
		{"redis://:secret@a:7000?addr=b:7000&addr=c:7000", "cluster", "redis://a:7000"},
		{"redis://a:26379/1?master_name=m&password=secret&addr=b:26379", "sentinel", "redis://a:26379/1"},
	} {
		got, err := parseRedisURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		kind := map[bool]string{got.single != nil: "single", got.cluster != nil: "cluster", got.sentinel != nil: "sentinel"}[true]
		if kind != tt.kind || got.shown != tt.shown {
			t.Errorf("%s: %s %s, want %s %s", tt.url, kind, got.shown, tt.kind, tt.shown)
		}
		for _, short := range []bool{true, false} {
			if got, err = parseRedisURL(tt.url); err == nil {
				if rdb := got.client(short); rdb == nil || rdb.Close() != nil {
					t.Errorf("%s: no client", tt.url)
				}
			}
		}
	}
}

// Whatever is wrong with a URL, no part of its password is shown.
func TestRedisURLErrorsKeepSecrets(t *testing.T) {
	for _, url := range []string{
		"redis://user:hush12!@host:port/0", "redis://:hu#sh12@host/0", "redis://:12/hush@host/0", "redis://:12?hush@host:6379/0",
		"redis://:hush%zz@host/0", "redis://:hush@host/notanumber", "redis://:hush@host/1/2", "redis://:hush@host/?nope=1",
		"redis://:hush@host/?pool_size=hush", "user:hush@host:6379", "hush@host:6379", "http://:hush@host/0", "unix://:hush@",
		"redis://host/1?addr=b:1&password=hush", "redis://:hush@host?addr=hush", "redis://host?master_name=m&password=hush&nope=1",
		"redis://hush[@host", "redis:hush@host", "://hush", "", "redis://:hush @host", "redis://:hush\n@host",
	} {
		_, err := parseRedisURL(url)
		if err == nil {
			t.Errorf("%q: no error", url)
		} else if strings.Contains(err.Error(), "hu") {
			t.Errorf("%q: the error shows the password: %v", url, err)
		}
	}
}
