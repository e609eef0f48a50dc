package demo

import "sync"

// once stores the first value of each key, and the number of times the key was received. It keeps
// maxKept keys and removes the oldest first.
type once[T any] struct {
	mu    sync.Mutex
	first map[string]*T
	order []string // keys, oldest first
	count func(*T) // adds one to the count
}

func newOnce[T any](count func(*T)) *once[T] {
	return &once[T]{first: map[string]*T{}, count: count}
}

// note counts another occurrence of a key, and returns its stored value.
func (o *once[T]) note(key string, value T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.first[key]
	if known == nil {
		if len(o.order) == maxKept {
			delete(o.first, o.order[0])
			o.order = o.order[1:]
		}
		known = &value
		o.first[key] = known
		o.order = append(o.order, key)
	}
	o.count(known)
	return *known
}

// all returns the stored values in the order of first arrival.
func (o *once[T]) all() []T {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]T, 0, len(o.order))
	for _, key := range o.order {
		all = append(all, *o.first[key])
	}
	return all
}
