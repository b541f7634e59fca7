package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Where a throttle is looked for.
const (
	serverVariable = "IRONIC_THROTTLE_URL"
	defaultServer  = "http://127.0.0.1:8087"
)

// serverFlag adds --server.
func (p *process) serverFlag(fs *pflag.FlagSet, server *string) {
	known := p.environment(serverVariable)
	if known == "" {
		known = defaultServer
	}
	fs.StringVar(server, "server", known, "`URL` of the throttle [env "+serverVariable+"]")
}

func newClient(server string) (*api.Client, error) {
	client, err := api.NewClient(server)
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	return client, nil
}
