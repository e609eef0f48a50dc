//go:build linux

package processes

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// inNamespace is the environment variable that marks the process with a network of its own.
const inNamespace = "HOOKLATCH_TEST_IN_NAMESPACE"

// The program sends nothing to any machine that is not in its configuration, and looks up no name.
// It has no telemetry and does not check for newer versions. The test runs in a network with
// nothing but the loopback interface, to which all routes lead, and reads every packet there.
func TestNoPacketLeavesTheMachine(t *testing.T) {
	t.Parallel() // in the namespace, the test runs alone
	if os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return
	}
	require.NoError(t, leadToLoopback())
	packets := watch(t)

	// watch must see the packets of a call and of a look-up.
	outside, err := new(net.Dialer).DialContext(t.Context(), "udp", "192.0.2.1:9")
	require.NoError(t, err)
	_, err = outside.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, outside.Close())
	packets.require(t, "192.0.2.1:9")
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = (&net.Resolver{PreferGo: true}).LookupHost(limited, "telemetry.hooklatch.example")
	require.Error(t, err)
	packets.require(t, ":53")
	packets.forget()

	url := pgtest.URL(t, pgtest.New(t))
	path := clitest.WriteServedConfig(t, url)
	var check clitest.Command
	check.Run(t.Context(), "check", "--config", path)
	require.Contains(t, check.Stdout.String(), "can be reached")

	free, err := freeport.Addresses(6)
	require.NoError(t, err)
	serve := clitest.StartProgram(t, "serve", "--config", path, "--log-format", "text", "--listen", free[0], "--admin-listen", free[1])
	serve.Says(t, "msg=ready")
	clitest.Must(t, "send", "stripe", "--config", path, "--url", "http://"+free[0])
	packets.stop(t, serve)

	dev := clitest.NewProgram(t, "dev", "--dir", filepath.Join(t.TempDir(), "dev"), "--listen", free[2], "--admin-listen", free[3], "--receiver-listen", free[4], "--smtp-listen", free[5])
	dev.Cmd.Env = append(dev.Cmd.Env, "DATABASE_URL="+pgtest.URL(t, pgtest.New(t)))
	require.NoError(t, dev.Cmd.Start())
	dev.Says(t, "ready in")
	packets.stop(t, dev)
	packets.none(t)
}

// stop requires that a process sends no packet to another machine for five seconds, and then stops
// the process.
func (s *traffic) stop(t *testing.T, p *clitest.Program) {
	t.Helper()
	require.Never(t, func() bool { return len(s.list()) > 0 }, 5*time.Second, clitest.Tick, "packets that left the machine, or look-ups of names")
	p.Signal(t, syscall.SIGTERM)
	require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
}

// runInNamespace runs this test again, in a process with a network of its own.
func runInNamespace(t *testing.T) {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), executable, "-test.run=^"+t.Name()+"$", "-test.v")
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "TEST_DATABASE_URL=") && !strings.HasPrefix(variable, "OTEL_") { // these variables name servers elsewhere
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if os.Getuid() != 0 {
		// The process keeps its user: Postgres refuses to run as root.
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW}
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Skipf("this machine does not let this user have a network namespace: %s", err)
	}
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
}

const loopbackName = "lo"

// leadToLoopback switches the loopback interface on, and routes every IPv4 address to it. Without a
// route, a call would fail before it sent a packet.
func leadToLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(loopbackName)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("switch on %s: %w", loopbackName, err)
	}
	// route is struct rtentry of linux/route.h, which describes only IPv4 routes. IPv6 needs no
	// route here: a call over IPv6 needs a look-up first, and the test notices look-ups.
	name := append([]byte(loopbackName), 0)
	route := struct {
		pad1                   uint64
		dst, gateway, mask     unix.RawSockaddr
		flags                  uint16
		pad2                   int16
		pad3                   uint64
		pad4                   uintptr
		metric                 int16
		dev                    *byte
		mtu, window, roundTrip uint64
	}{flags: unix.RTF_UP, dev: &name[0]}
	route.dst.Family, route.mask.Family = unix.AF_INET, unix.AF_INET
	if err := ioctl(fd, unix.SIOCADDRT, unsafe.Pointer(&route)); err != nil {
		return fmt.Errorf("route IPv4: %w", err)
	}
	return nil
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

// traffic records the destinations of packets that leave the machine or look up a name.
type traffic struct {
	mu     sync.Mutex
	strays []string
}

// watch reads every packet of the loopback interface until the test ends.
func watch(t *testing.T) *traffic {
	t.Helper()
	const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in network byte order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, all)
	require.NoError(t, err)
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}))
	seen, done, ended := &traffic{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		packet := make([]byte, 64<<10)
		for {
			n, _, err := unix.Recvfrom(fd, packet, 0)
			select {
			case <-done:
				return
			default:
			}
			if err != nil {
				continue // the timeout
			}
			if to, ok := destinationOf(packet[:n]); ok && (!to.Addr().IsLoopback() || to.Port() == 53) {
				seen.mu.Lock()
				seen.strays = append(seen.strays, to.String())
				seen.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		close(done)
		<-ended
		_ = unix.Close(fd)
	})
	return seen
}

// destinationOf returns the destination of a TCP or UDP packet. ok is false for other packets, such
// as those of IPv6 neighbour discovery.
func destinationOf(packet []byte) (to netip.AddrPort, ok bool) {
	if len(packet) < 20 {
		return to, false
	}
	var addr netip.Addr
	header, protocol := 40, packet[6]
	switch packet[0] >> 4 {
	case 4:
		addr, _ = netip.AddrFromSlice(packet[16:20])
		header, protocol = int(packet[0]&0x0f)*4, packet[9]
	case 6:
		if len(packet) < header {
			return to, false
		}
		addr, _ = netip.AddrFromSlice(packet[24:40])
	default:
		return to, false
	}
	if protocol != unix.IPPROTO_TCP && protocol != unix.IPPROTO_UDP || len(packet) < header+4 {
		return to, false
	}
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(packet[header+2:])), true
}

func (s *traffic) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.strays...)
}

func (s *traffic) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strays = nil
}

func (s *traffic) require(t *testing.T, to string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(strings.Join(s.list(), " ")+" ", to) }, clitest.Patience, clitest.Tick, "a packet to %s", to)
}

func (s *traffic) none(t *testing.T) {
	t.Helper()
	require.Empty(t, s.list(), "packets that left the machine, or look-ups of names")
}
