package quarantine

import (
	"net/netip"
	"slices"
)

// line is a bounded queue of requests to be written. Addresses share it evenly.
type line struct {
	maxRows, maxBytes int

	waiting   []*pending // in order of arrival
	bytes     int
	byAddress map[netip.Prefix]int // number of rows
}

func newLine(maxRows, maxBytes int) *line {
	return &line{maxRows: maxRows, maxBytes: maxBytes, byAddress: make(map[netip.Prefix]int)}
}

// makeRoom reports whether a request of the given size may join. If the line is full, makeRoom
// repeatedly removes the newest request of the address with the most requests. It gives up when
// that address has fewer than two requests more than the address that the new request comes from.
// The result gone is the number of removed requests.
func (l *line) makeRoom(from netip.Prefix, size int) (room bool, gone int) {
	if size > l.maxBytes {
		return false, 0
	}
	for len(l.waiting) >= l.maxRows || l.bytes+size > l.maxBytes {
		most := l.greediest()
		if l.byAddress[from]+1 >= l.byAddress[most] {
			return false, gone
		}
		l.removeNewestOf(most)
		gone++
	}
	return true, gone
}

func (l *line) greediest() (most netip.Prefix) {
	n := 0
	for address, rows := range l.byAddress {
		if rows > n || rows == n && address.Addr().Less(most.Addr()) {
			most, n = address, rows
		}
	}
	return most
}

func (l *line) removeNewestOf(address netip.Prefix) {
	for i, p := range slices.Backward(l.waiting) {
		if p.From == address {
			l.forget(p)
			l.waiting = slices.Delete(l.waiting, i, i+1)
			return
		}
	}
}

func (l *line) join(p *pending) {
	l.waiting = append(l.waiting, p)
	l.bytes += p.size
	l.byAddress[p.From]++
}

func (l *line) forget(p *pending) {
	l.bytes -= p.size
	if l.byAddress[p.From]--; l.byAddress[p.From] == 0 {
		delete(l.byAddress, p.From)
	}
}

// take removes the first requests, up to the given rows and bytes.
func (l *line) take(rows, bytes int) []*pending {
	var taken []*pending
	for _, p := range l.waiting {
		if len(taken) == rows || p.size > bytes {
			break
		}
		bytes -= p.size
		taken = append(taken, p)
		l.forget(p)
	}
	l.waiting = slices.Delete(l.waiting, 0, len(taken))
	return taken
}

// leave removes and returns the requests for which the function gone returns true.
func (l *line) leave(gone func(*pending) bool) []*pending {
	var left []*pending
	l.waiting = slices.DeleteFunc(l.waiting, func(p *pending) bool {
		if !gone(p) {
			return false
		}
		l.forget(p)
		left = append(left, p)
		return true
	})
	return left
}
