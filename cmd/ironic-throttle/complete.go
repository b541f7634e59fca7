package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// What completion allows itself: somebody waits at a prompt.
const (
	completionTimeout = time.Second
	completionRows    = 200 // of the queue of each pool
)

// complete completes the one argument of a command with the names that list finds at the
// throttle. Whatever goes wrong it offers nothing and says nothing: a shell cannot show it.
func (r *remote) complete(list func(context.Context, *api.Client) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const nothingElse = cobra.ShellCompDirectiveNoFileComp
		client, err := r.client()
		if err != nil || len(args) > 0 {
			return nil, nothingElse
		}
		defer client.CloseIdleConnections()
		ctx, stop := context.WithTimeout(cmd.Context(), completionTimeout)
		defer stop()
		var found []string
		for _, name := range list(ctx, client) {
			if strings.Contains(begun, "~") {
				name = strings.Replace(name, "/", "~", 1)
			}
			if name != "" && strings.HasPrefix(name, begun) && !strings.ContainsFunc(name, notInWords) {
				found = append(found, name)
			}
		}
		slices.Sort(found)
		return slices.Compact(found), nothingElse
	}
}

// notInWords is what would make more of a name than one word of a shell.
func notInWords(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }

// hostsOf lists the hosts that hold a slot, work or wait.
func hostsOf(ctx context.Context, client *api.Client) []string {
	var names []string
	if s, err := client.Slots(ctx); err == nil {
		for _, o := range s.Occupants {
			names = append(names, strings.Replace(o.Name, "~", "/", 1))
		}
	}
	return append(names, ofPools(ctx, client, func(p api.PoolQueue) (names []string) {
		for _, h := range p.Hosts {
			names = append(names, strings.Replace(h.Name, "~", "/", 1))
		}
		return names
	})...)
}

// namespacesOf lists the namespaces that have hosts in a queue, or slots.
func namespacesOf(ctx context.Context, client *api.Client) []string {
	return ofPools(ctx, client, func(p api.PoolQueue) (names []string) {
		for _, t := range p.Tenants {
			names = append(names, t.Tenant)
		}
		return names
	})
}

// poolsOf lists the pools that have a queue of their own.
func poolsOf(ctx context.Context, client *api.Client) []string {
	return ofPools(ctx, client, func(p api.PoolQueue) []string { return []string{p.Pool} })
}

func ofPools(ctx context.Context, client *api.Client, names func(api.PoolQueue) []string) (all []string) {
	if q, err := client.Queue(ctx, completionRows); err == nil {
		for _, p := range q.Pools {
			all = append(all, names(p)...)
		}
	}
	return all
}

// failedHostsOf lists the hosts that can be released.
func failedHostsOf(ctx context.Context, client *api.Client) []string {
	var names []string
	if holds, err := client.Holds(ctx); err == nil {
		for _, h := range holds.Hosts {
			name := cmp.Or(h.Name, h.NodeUUID)
			if h.Namespace != "" && h.Name != "" {
				name = h.Namespace + "/" + h.Name
			}
			if !h.Released {
				names = append(names, name)
			}
		}
	}
	return names
}

// scopesOf lists the scopes that have a breaker.
func scopesOf(ctx context.Context, client *api.Client) []string {
	var scopes []string
	if b, err := client.Breakers(ctx); err == nil {
		for _, one := range b.Breakers {
			scopes = append(scopes, one.Scope)
		}
	}
	return scopes
}

// completeWords completes the values of a flag with words.
func completeWords[T ~string](cmd *cobra.Command, flag string, words []T) {
	var all []cobra.Completion
	for _, w := range words {
		all = append(all, string(w))
	}
	completeFlag(cmd, flag, cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
}

func completeFlag(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	// It fails only for a flag that does not exist, which the tests would see.
	_ = cmd.RegisterFlagCompletionFunc(flag, by)
}
