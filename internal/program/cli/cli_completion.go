package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// completing returns the possible completions for a value.
type completing func() []string

// completeValues lets shells complete the flag and argument values of all commands: names from the
// configuration, and words from fixed sets.
func (c *cli) completeValues(root *cobra.Command) {
	named := func(names func(*config.Config) []string) completing {
		return func() []string {
			cfg, err := c.loadConfig()
			if err != nil {
				return nil // the command itself reports the error
			}
			return names(cfg)
		}
	}
	sources := named(func(cfg *config.Config) []string { return slices.Sorted(maps.Keys(cfg.Sources)) })
	destinations := named(func(cfg *config.Config) []string { return slices.Sorted(maps.Keys(cfg.Destinations)) })
	routes := named(func(cfg *config.Config) []string {
		var names []string
		for _, r := range cfg.Routes {
			names = append(names, r.Name)
		}
		return names
	})
	types := named(func(cfg *config.Config) []string {
		var types []string
		for _, r := range cfg.Routes {
			for _, one := range r.Types {
				if !strings.Contains(one, "*") {
					types = append(types, one)
				}
			}
		}
		slices.Sort(types)
		return slices.Compact(types)
	})
	flags := map[string]completing{
		"source": sources, "destination": destinations, "route": routes, "type": types,
		"log-level": fixed("debug", "info", "warn", "error"), "log-format": fixed("auto", "text", "json"),
	}
	arguments := map[string]completing{
		"send": sources, "backfill": sources, "providers": catalog.Names, "init": catalog.Names, "init add": catalog.Names, "import keys": sources,
		"events show": sources, "events replay": sources, "events release": sources, "events drop": sources,
		"routes show": routes, "routes test": sources,
		"destinations pause": destinations, "destinations resume": destinations, "destinations retire": destinations,
	}
	eachCommand(root, "", func(path string, cmd *cobra.Command) {
		for name, words := range flags {
			completeFlag(cmd, name, words)
		}
		if words, known := arguments[path]; known {
			cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveDefault // the argument is a file or an id
				}
				return words(), cobra.ShellCompDirectiveNoFileComp
			}
		}
	})
}

// fixed returns a function that always returns the same words.
func fixed[T ~string](words ...T) completing {
	return func() []string { return textsOf(words) }
}

// completeFlag completes a flag, if cmd declares it.
func completeFlag(cmd *cobra.Command, name string, words completing) {
	if cmd.LocalNonPersistentFlags().Lookup(name) == nil && cmd.PersistentFlags().Lookup(name) == nil {
		return
	}
	// RegisterFlagCompletionFunc fails if the flag does not exist or already has completions.
	_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	})
}

// eachCommand visits all commands, with each command's path below the root.
func eachCommand(cmd *cobra.Command, path string, visit func(path string, cmd *cobra.Command)) {
	visit(path, cmd)
	for _, sub := range cmd.Commands() {
		below := sub.Name()
		if path != "" {
			below = path + " " + sub.Name()
		}
		eachCommand(sub, below, visit)
	}
}
