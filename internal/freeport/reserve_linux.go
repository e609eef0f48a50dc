package freeport

import "syscall"

// reserve binds a socket to a port without listening on it, until this process exits. It returns
// false if another socket uses or reserves the port. The reserving socket sets SO_REUSEADDR and
// does not listen. A server that sets the option too, as Go and Postgres do, can therefore listen
// on the port. The reserving socket sets the option only after it is bound, so two reservations of
// a port exclude each other, even in two processes.
func reserve(port int) bool {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return true // not reserved; a server fails to start if the port is taken
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		_ = syscall.Close(socket)
		return false
	}
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil || !usable(port) {
		_ = syscall.Close(socket)
	}
	return true
}

// usable reports whether a server can listen on a reserved port.
func usable(port int) bool {
	server, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(server) }()
	return syscall.SetsockoptInt(server, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) == nil &&
		syscall.Bind(server, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}) == nil &&
		syscall.Listen(server, 1) == nil
}
