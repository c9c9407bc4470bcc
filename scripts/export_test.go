package scripts

// Key is the name, or the prefix, that word stands for in namespace bide.
func Key(word string) string { return keys{"bide"}.name(word) }

// KeyWords lists every word that Key knows.
func KeyWords() []string { return words() }
