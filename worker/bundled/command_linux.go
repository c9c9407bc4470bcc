package bundled

import "syscall"

// dieWithParent has the kernel kill the command when the thread that started it is
// gone, however that came about. It is for the command alone: what that has started
// is the guard's.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
