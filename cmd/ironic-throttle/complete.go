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

// complete completes the one argument of a command with the names that list finds at the throttle. When anything goes
// wrong it offers nothing and says nothing: a shell cannot show it.
func (r *remote) complete(list func(context.Context, *api.Client) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		client, err := r.client()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer client.CloseIdleConnections()
		ctx, stop := context.WithTimeout(cmd.Context(), completionTimeout)
		defer stop()
		found := slices.DeleteFunc(list(ctx, client), func(name string) bool {
			noWord := strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
			return name == "" || noWord || !strings.HasPrefix(name, begun)
		})
		slices.Sort(found)
		return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
	}
}

// hostsOf lists the hosts that hold a slot, work or wait.
func hostsOf(ctx context.Context, client *api.Client) (names []string) {
	s, _ := client.Slots(ctx)
	for _, o := range s.Occupants {
		names = append(names, strings.Replace(o.Name, "~", "/", 1))
	}
	q, _ := client.Queue(ctx, api.QueueQuery{Limit: completionRows})
	for _, p := range q.Pools {
		for _, h := range p.Hosts {
			names = append(names, strings.Replace(h.Name, "~", "/", 1))
		}
	}
	return names
}

// failedHostsOf lists the hosts that can be released.
func failedHostsOf(ctx context.Context, client *api.Client) (names []string) {
	holds, _ := client.Holds(ctx)
	for _, h := range holds.Hosts {
		switch {
		case h.Released:
		case h.Namespace == "":
			names = append(names, cmp.Or(h.Name, h.NodeUUID))
		default:
			names = append(names, h.Namespace+"/"+h.Name)
		}
	}
	return names
}

// anyHostOf lists the hosts that hold a slot, work, wait or have failed.
func anyHostOf(ctx context.Context, client *api.Client) []string {
	return append(hostsOf(ctx, client), failedHostsOf(ctx, client)...)
}

// scopesOf lists the scopes that have a breaker.
func scopesOf(ctx context.Context, client *api.Client) (scopes []string) {
	b, _ := client.Breakers(ctx)
	for _, one := range b.Breakers {
		scopes = append(scopes, one.Scope)
	}
	return scopes
}

// completeWords completes the values of a flag with words.
func completeWords[T ~string](cmd *cobra.Command, flag string, words []T) {
	completeFlag(cmd, flag, cobra.FixedCompletions(texts(words), cobra.ShellCompDirectiveNoFileComp))
}

// texts are words as they are written.
func texts[T ~string](words []T) (all []string) {
	for _, w := range words {
		all = append(all, string(w))
	}
	return all
}

func completeFlag(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	// It fails only for a flag that does not exist, which the tests would see.
	_ = cmd.RegisterFlagCompletionFunc(flag, by)
}
