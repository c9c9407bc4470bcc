package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("SECRET_TEST_SET", " s3cret\n")
	t.Setenv("SECRET_TEST_EMPTY", "")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		ref  Ref
		want string
		err  string
	}{
		{"a variable, as it is", Ref{Env: "SECRET_TEST_SET", Prefix: "Bearer "}, " s3cret\n", ""},
		{"no variable", Ref{Env: "SECRET_TEST_NONE"}, "", `the environment variable "SECRET_TEST_NONE" is not set`},
		{"an empty variable", Ref{Env: "SECRET_TEST_EMPTY"}, "", `the environment variable "SECRET_TEST_EMPTY" is empty`},
		{"a file", Ref{File: file("plain", "s3cret")}, "s3cret", ""},
		{"a file with newlines", Ref{File: file("lines", " a\nb \r\n\n")}, " a\nb ", ""},
		{"the largest file", Ref{File: file("large", strings.Repeat("x", MaxFile))}, strings.Repeat("x", MaxFile), ""},
		{"too large a file", Ref{File: file("larger", strings.Repeat("x", MaxFile+1))}, "", "more than 64 KiB"},
		{"an endless file", Ref{File: "/dev/zero"}, "", "/dev/zero is not a regular file"},
		{"a pipe", Ref{File: pipe}, "", "is not a regular file"},
		{"a folder", Ref{File: dir}, "", "is not a regular file"},
		{"an empty file", Ref{File: file("empty", "\n")}, "", "is empty"},
		{"no file", Ref{File: filepath.Join(dir, "none")}, "", "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.ref.Read()
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Read = %.40q, %v, want %.40q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestRedactor(t *testing.T) {
	const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqh\n-----END KEY-----"
	for _, tt := range []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"none", nil, "all is said", "all is said"},
		{"in the middle and at the ends", []string{"hunter2"}, "hunter2 is hunter2, hunter2", "<secret> is <secret>, <secret>"},
		{"quoted", []string{`a"b\c`}, `bad header "a\"b\\c"`, `bad header "<secret>"`},
		{"in JSON", []string{`a<b>"c`}, "{\"x\":\"a\\u003cb\\u003e\\\"c\",\"y\":\"a<b>\\\"c\"}", `{"x":"<secret>","y":"<secret>"}`},
		{"in URLs", []string{"a b/c?"}, "/x/a%20b%2Fc%3F?t=a+b%2Fc%3F", "/x/<secret>?t=<secret>"},
		{"in base 64", []string{"user:pass?>"}, "Basic " + base64.StdEncoding.EncodeToString([]byte("user:pass?>")), "Basic <secret>="},
		{"a line of several", []string{key}, "invalid key MIIEvQIBADANBg, kqh", "invalid key <secret>, kqh"},
		{"one within another", []string{"pass", "mypassword"}, "mypassword pass", "<secret> <secret>"},
		{"overlapping", []string{"abcde", "defgh"}, "xabcdefghx", "x<secret>x"},
		{"overlapping itself", []string{"aba"}, "xababax", "x<secret>x"},
		{"one after the other", []string{"abc"}, "abcabc", "<secret><secret>"},
		{"of one letter", []string{"a"}, "banana", "b<secret>n<secret>n<secret>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Redactor
			for _, s := range tt.secrets {
				r.Add(s)
			}
			if got := r.Clean(tt.text); got != tt.want {
				t.Errorf("Clean(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}

	var r Redactor
	r.Add("hunter2")
	if got, want := r.CleanStart("the word is hunt"), "the word is <secret>"; got != want {
		t.Errorf("CleanStart = %q, want %q", got, want)
	}
	if got, want := r.CleanEnd("nter2 is the word"), "<secret> is the word"; got != want {
		t.Errorf("CleanEnd = %q, want %q", got, want)
	}
	if got, want := r.CleanEnd("unte"), "unte"; got != want {
		t.Errorf("CleanEnd = %q, want %q: it is no end of the secret", got, want)
	}
}

// Whatever a text is made of and wherever it is cut, no four bytes in a row of a
// secret are left in it.
func TestNothingIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Letters that stand in nothing else, and some that have to be escaped.
		value := rapid.StringMatching(`[XYZ]{4}[XYZ"\\ /+<%\n]{0,8}[XYZ]{4}`).Draw(t, "secret")
		var r Redactor
		r.Add(value)
		encode := []func(string) string{
			func(s string) string { return s },
			func(s string) string { return fmt.Sprintf("%q", s) },
			func(s string) string { b, _ := json.Marshal(s); return string(b) },
			url.QueryEscape, url.PathEscape,
		}
		var b strings.Builder
		for range rapid.IntRange(0, 4).Draw(t, "times") {
			b.WriteString(rapid.SampledFrom([]string{"", "a", "bc ", "\n"}).Draw(t, "between"))
			b.WriteString(rapid.SampledFrom(encode).Draw(t, "how")(value))
		}
		text := b.String()
		at := rapid.IntRange(0, len(text)).Draw(t, "cut")
		for name, got := range map[string]string{
			"Clean": r.Clean(text), "CleanStart": r.CleanStart(text[:at]), "CleanEnd": r.CleanEnd(text[at:]),
		} {
			run := 0
			for _, c := range got {
				if run++; !strings.ContainsRune("XYZ", c) {
					run = 0
				}
				if run == 4 {
					t.Fatalf("%s left %q of the secret %q in %q", name, got, value, text)
				}
			}
		}
	})
}
