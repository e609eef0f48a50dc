package main

import "github.com/spf13/cobra"

func newCheck(p *process, g *globals) *cobra.Command { return &cobra.Command{Use:"check", Run: func(*cobra.Command,[]string){}} }
