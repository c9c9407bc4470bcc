// Package secret reads values that are only ever named in what bide stores and
// shows, and keeps them out of texts that tell what happened.
package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// MaxFile is how many bytes a secret file may have.
const MaxFile = 64 << 10

// Ref names a secret of this process: an environment variable or a file, of which
// exactly one is set.
type Ref struct {
	Env, File string
	// Prefix is put before the secret, as "Bearer " is. It is no secret.
	Prefix string
}

// Read returns the secret without its prefix. Newlines at the end of a file are
// left out. A secret that is absent, empty or a file of more than MaxFile bytes is
// an error, which never tells a value. Nothing is remembered: a secret that is
// rotated counts from the next call.
func (r Ref) Read() (string, error) {
	if r.Env != "" {
		value, ok := os.LookupEnv(r.Env)
		switch {
		case !ok:
			return "", fmt.Errorf("the environment variable %q is not set", r.Env)
		case value == "":
			return "", fmt.Errorf("the environment variable %q is empty", r.Env)
		}
		return value, nil
	}
	data, err := readFile(r.File)
	if err != nil {
		return "", fmt.Errorf("secret file: %w", err)
	}
	value := strings.TrimRight(string(data), "\r\n")
	if value == "" {
		return "", fmt.Errorf("the secret file %q is empty", r.File)
	}
	return value, nil
}

func readFile(name string) ([]byte, error) {
	// Looked at before it is opened: opening a pipe would wait for a writer.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = errors.New("more than 64 KiB, which is no secret")
	}
	return data, err
}
