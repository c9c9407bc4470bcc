//go:build race

package bigtest

// racing says that the race detector watches, under which a client is many times
// slower: the tests are smaller then.
const racing = true
