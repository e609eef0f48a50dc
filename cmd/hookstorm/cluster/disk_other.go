//go:build !linux

package cluster

import (
	"errors"
	"os/exec"
)

// Privately does nothing, because this package mounts disks only on Linux.
func Privately(*exec.Cmd) {}

func mountSmall(string, int64) error { return errors.New("not supported on this system") }

func unmount(string) error { return nil }

func isFull(error) bool { return false }
