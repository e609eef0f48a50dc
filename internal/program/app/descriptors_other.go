//go:build !unix

package app

func openFilesLimit() int { return 0 }
