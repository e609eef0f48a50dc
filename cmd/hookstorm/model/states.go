package model

import "hash/maphash"

// stateSet is a set of states, numbered in the order in which they were added. It is a hash table
// over one list, because a Go map would store every state twice.
type stateSet struct {
	blocks [][]State // blocks of blockSize states, so that growth copies no state
	n      uint32
	slots  []uint32 // number of the state in the slot + 1; 0 if the slot is empty
	mask   uint64   // the number of slots, which is a power of two, minus 1
	seed   maphash.Seed
}

const (
	blockSize  = 1 << 16
	firstSlots = 1 << 10
)

func (s *stateSet) at(id uint32) State { return s.blocks[id/blockSize][id%blockSize] }

// add adds a state unless it is in the set, and returns its number and whether it is new.
func (s *stateSet) add(state *State) (id uint32, isNew bool) {
	if 2*uint64(s.n) >= s.mask {
		s.grow()
	}
	slot := s.slotOf(state)
	if found := s.slots[slot]; found != 0 {
		return found - 1, false
	}
	if s.n%blockSize == 0 {
		s.blocks = append(s.blocks, make([]State, 0, blockSize))
	}
	last := len(s.blocks) - 1
	s.blocks[last] = append(s.blocks[last], *state)
	s.n++
	s.slots[slot] = s.n
	return s.n - 1, true
}

// slotOf returns the slot of a state, or the empty slot where it belongs.
func (s *stateSet) slotOf(state *State) uint64 {
	slot := maphash.Comparable(s.seed, *state) & s.mask
	for s.slots[slot] != 0 {
		id := s.slots[slot] - 1
		if s.blocks[id/blockSize][id%blockSize] == *state {
			return slot
		}
		slot = (slot + 1) & s.mask
	}
	return slot
}

func (s *stateSet) grow() {
	if s.slots == nil {
		s.seed = maphash.MakeSeed()
		s.mask = firstSlots - 1
	} else {
		s.mask = 2*s.mask + 1
	}
	s.slots = make([]uint32, s.mask+1)
	for id := range s.n {
		state := s.at(id)
		s.slots[s.slotOf(&state)] = id + 1
	}
}
