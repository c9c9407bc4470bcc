//go:build unix && !linux

package bundled

import "syscall"

// dieWithParent does nothing: there is no such thing here, and the guard does it.
func dieWithParent(*syscall.SysProcAttr) {}
