package scripts

import (
	"strings"
	"sync"
)

// Key is the name, or the prefix, that word stands for in namespace bide.
func Key(word string) string { return keys{"bide"}.name(word) }

// KeyWords lists every word that Key knows.
func KeyWords() []string { return words() }

// Reads reports whether a script's text names key, or a prefix of it.
func Reads(script, key string) bool {
	text := rendered()[script].text
	for _, word := range words() {
		name := Key(word)
		if strings.Contains(text, "'"+name+"'") && (name == key || strings.HasSuffix(name, ":") && strings.HasPrefix(key, name)) {
			return true
		}
	}
	return false
}

var rendered = sync.OnceValue(func() map[string]script { return render(keys{"bide"}) })

// Classify is how the driver's errors become ours.
func Classify(err error) error { return classify(err) }
