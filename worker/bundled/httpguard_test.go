package bundled_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker/bundled"
)

func TestHTTPGuard(t *testing.T) {
	asked := false
	server := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	names := map[string]string{
		"metadata.test.": "169.254.169.254", "mapped.test.": "::ffff:169.254.169.254", "here.test.": "127.0.0.1", "any.test.": "0.0.0.0", "v6.test.": "fe80::1",
	}
	private := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	proxy, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, url string
		opt       bundled.Options
		want      string // part of the refusal, empty if it goes through
	}{
		{"this host", "http://127.0.0.1:" + port, bundled.Options{}, ""},
		{"a name of this host", "http://here.test.:" + port, bundled.Options{}, ""},
		{"metadata", "http://169.254.169.254/latest/meta-data/", bundled.Options{}, "link-local"},
		{"metadata over TLS", "https://169.254.169.254/", bundled.Options{}, "link-local"},
		{"metadata, mapped", "http://[::ffff:a9fe:a9fe]/", bundled.Options{}, "link-local"},
		{"a name that resolves to it", "http://metadata.test./", bundled.Options{}, "connections to 169.254.169.254 are not allowed"},
		{"a name that resolves to it, mapped", "http://mapped.test./", bundled.Options{}, "not allowed: it is a link-local"},
		{"a name that resolves to it, in IPv6", "http://v6.test./", bundled.Options{}, "not allowed: it is a link-local"},
		{"a name that resolves to nowhere", "http://any.test.:" + port, bundled.Options{}, "unspecified"},
		{"unspecified", "http://0.0.0.0:" + port, bundled.Options{}, "unspecified"},
		{"denied", "http://127.0.0.1:" + port, bundled.Options{HTTPDeny: loopback}, "denied range 127.0.0.0/8"},
		{"a name of what is denied", "http://here.test.:" + port, bundled.Options{HTTPDeny: loopback}, "denied range"},
		{"not allowed", "http://127.0.0.1:" + port, bundled.Options{HTTPAllow: private}, "none of the allowed ranges"},
		{"allowed", "http://127.0.0.1:" + port, bundled.Options{HTTPAllow: loopback}, ""},
		{"through a proxy", "http://elsewhere.test/", bundled.Options{HTTPProxy: proxy}, ""},
		{"metadata through a proxy", "http://169.254.169.254/", bundled.Options{HTTPProxy: proxy}, "link-local"},
		{"through a proxy that is denied", "http://elsewhere.test/", bundled.Options{HTTPProxy: proxy, HTTPDeny: loopback}, "denied range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Not even an environment that says so sends it anywhere else.
			t.Setenv("HTTP_PROXY", server.URL)
			t.Setenv("HTTPS_PROXY", server.URL)
			asked = false
			j := newJob("http", fmt.Sprintf(`{"url":%q,"method":"GET"}`, tt.url))
			err := bundled.HTTPHandler(tt.opt, resolver(t, names))(t.Context(), j)
			if tt.want == "" {
				if err != nil || !asked {
					t.Errorf("Run = %v, the server was asked: %t; want nil and true", err, asked)
				}
				return
			}
			if err == nil || !job.IsPermanent(err) || !strings.Contains(err.Error(), tt.want) || asked {
				t.Errorf("Run = %v, the server was asked: %t; want a permanent error with %q", err, asked, tt.want)
			}
		})
	}
}

// resolver asks a name server of the test's, which knows these names.
func resolver(t *testing.T, names map[string]string) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-ended })
	go func() {
		defer close(ended)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			conn.WriteTo(answerTo(buf[:n], names), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answerTo is the answer to a DNS query for the address of a name.
func answerTo(query []byte, names map[string]string) []byte {
	end, name := 12, ""
	for query[end] != 0 {
		name += string(query[end+1:end+1+int(query[end])]) + "."
		end += 1 + int(query[end])
	}
	end += 5 // the last label, type and class
	v6 := query[end-3] == 28
	addr, err := netip.ParseAddr(names[name])
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	if err != nil || addr.Is6() != v6 {
		return reply
	}
	reply[7] = 1
	reply = append(reply, 0xc0, 12, 0, query[end-3], 0, 1, 0, 0, 0, 60, 0, byte(addr.BitLen()/8))
	return append(reply, addr.AsSlice()...)
}
