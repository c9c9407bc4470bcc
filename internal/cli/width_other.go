//go:build !unix

package cli

func terminalWidth() int { return 0 }
