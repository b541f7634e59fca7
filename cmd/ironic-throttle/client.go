package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Where a throttle is looked for, unless a flag says so. They are no settings of serve,
// which knows their names (internal/config).
const (
	serverVariable = "IRONIC_THROTTLE_URL"
	tokenVariable  = "IRONIC_THROTTLE_TOKEN_FILE"
	caVariable     = "IRONIC_THROTTLE_CA_FILE"
	defaultServer  = "http://127.0.0.1:8087"
)

// remote is how a command reaches the throttle.
type remote struct{ server, tokenFile, caFile string }

// remoteFlags adds --server, --token-file and --ca-file.
func (p *process) remoteFlags(fs *pflag.FlagSet, to *remote) {
	known := os.Getenv(serverVariable)
	if known == "" {
		known = defaultServer
	}
	fs.StringVar(&to.server, "server", known, "`URL` of the throttle [env "+serverVariable+"]")
	fs.StringVar(&to.tokenFile, "token-file", os.Getenv(tokenVariable), "`file` with the bearer token to show, by https or on loopback only [env "+tokenVariable+"]")
	fs.StringVar(&to.caFile, "ca-file", os.Getenv(caVariable), "`file` with the CAs (PEM) of the throttle's certificate; (default the system's) [env "+caVariable+"]")
}

// client is the API client for r.
func (r remote) client() (*api.Client, error) {
	client, err := api.NewClient(r.server, api.Options{TokenFile: r.tokenFile, RootCAs: r.caFile})
	if err != nil {
		flag := "--server"
		if strings.HasPrefix(err.Error(), "root CAs: ") {
			flag = "--ca-file"
		}
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return client, nil
}

// ask puts a question to the throttle that to names, and shows the answer.
func ask[T any](
	cmd *cobra.Command, p *process, to remote,
	question func(*api.Client, context.Context) (T, error), text func(T) string,
) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	answer, err := question(client, cmd.Context())
	if err != nil {
		return to.explain(clientError(err))
	}
	if p.JSON {
		return p.PrintJSON(answer)
	}
	return p.Print(text(answer))
}

// explain adds to the error of a throttle that could not be reached where it was looked
// for, and lines to paste where nobody answered there.
func (r remote) explain(err error) error {
	if code, _ := cli.Code(err); code != cli.Unreachable {
		return err
	}
	var answer *api.Error
	if errors.As(err, &answer) && answer.Message == http.StatusText(answer.Code) { // it has no words of ours
		err = fmt.Errorf("something answered there that is not ironic-throttle: HTTP %d", answer.Code)
	}
	text := r.server + " is what --server says, or " + serverVariable
	var late interface{ Timeout() bool }
	if errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &late) && late.Timeout() {
		text += "; for a throttle in a cluster try\n  " + strings.Join(r.hints(), "\n  ")
	}
	return cli.Exit(cli.Unreachable, fmt.Errorf("%w\n%s", err, text))
}

// hints are command lines that reach a throttle in its pod, where it listens on loopback in
// plain HTTP (deploy/): there, and from here through a tunnel to --server.
func (r remote) hints() []string {
	const (
		pod  = " -n baremetal-operator-system deploy/ironic-throttle "
		port = "8087"
	)
	inPod := "kubectl exec" + pod + "-c ironic-throttle -- /ironic-throttle status"
	u, err := url.Parse(strings.TrimSpace(r.server))
	if err != nil || u.Scheme != "http" || !slices.Contains([]string{"127.0.0.1", "localhost"}, u.Hostname()) {
		return []string{inPod}
	}
	ports := cmp.Or(u.Port(), "80") + ":" + port
	if u.Port() == port {
		ports = port
	}
	return []string{"kubectl port-forward" + pod + ports, inPod}
}
