package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Where commands find the throttle, unless a flag says so. They are not settings of serve, but internal/config knows
// their names.
const (
	serverVariable = "IRONIC_THROTTLE_URL"
	tokenVariable  = "IRONIC_THROTTLE_TOKEN_FILE"
	caVariable     = "IRONIC_THROTTLE_CA_FILE"
	defaultServer  = "http://127.0.0.1:8087"
)

// inCluster says how to reach a throttle in its pod, where it listens on loopback in plain HTTP (deploy/).
const inCluster = `; for a throttle in a cluster try
  kubectl port-forward -n baremetal-operator-system deploy/ironic-throttle 8087
  kubectl exec -n baremetal-operator-system deploy/ironic-throttle -c ironic-throttle -- /ironic-throttle status`

// remoteFlags adds --server, --token-file and --ca-file.
func (p *process) remoteFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.server, "server", cmp.Or(os.Getenv(serverVariable), defaultServer),
		"`URL` of the throttle [env "+serverVariable+"]")
	fs.StringVar(&p.access.TokenFile, "token-file", os.Getenv(tokenVariable),
		"`file` with the bearer token to send, by https or on loopback only [env "+tokenVariable+"]")
	fs.StringVar(&p.access.RootCAs, "ca-file", os.Getenv(caVariable),
		"`file` with the CAs (PEM) of the throttle's certificate; (default the system's) [env "+caVariable+"]")
}

// ask sends a question to the throttle, prints the answer, and returns it.
func ask[T any](
	cmd *cobra.Command, p *process, question func(*api.Client, context.Context) (T, error), text func(T) string,
) (answer T, err error) {
	client, err := api.NewClient(p.server, p.access)
	if err != nil {
		return answer, fmt.Errorf("--server or --ca-file: %w", err)
	}
	defer client.CloseIdleConnections()
	answer, err = question(client, cmd.Context())
	switch {
	case err != nil:
		return answer, p.failed(cmd.Context(), err)
	case p.JSON:
		return answer, p.PrintJSON(answer)
	}
	return answer, p.Print(text(answer))
}

// show is ask for commands whose exit code does not depend on the answer.
func show[T any](
	cmd *cobra.Command, p *process, question func(*api.Client, context.Context) (T, error), text func(T) string,
) error {
	_, err := ask(cmd, p, question, text)
	return err
}

// failed gives an error of the API client its exit code. 404 with a field, 409 and 500 are a no. A 404 without a field
// does not come from a throttle that has the path. If no throttle answered, the error names the URL and its settings.
func (p *process) failed(ctx context.Context, err error) error {
	var answer *api.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return cli.Exit(cli.No, errors.New("interrupted"))
	case errors.As(err, new(*api.FieldError)):
		return cli.Exit(cli.WrongUse, err)
	case errors.As(err, &answer):
		switch answer.Code {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
			return cli.Exit(cli.WrongUse, err)
		case http.StatusConflict, http.StatusInternalServerError:
			return cli.Exit(cli.No, err)
		case http.StatusNotFound:
			if answer.Field != "" {
				return cli.Exit(cli.No, err)
			}
		}
		if answer.Message == http.StatusText(answer.Code) { // our errors have more words
			err = fmt.Errorf("something answered there that is not ironic-throttle: HTTP %d", answer.Code)
		}
	}
	hint := ""
	if errors.Is(err, api.ErrUnreachable) {
		hint = inCluster
	}
	err = fmt.Errorf("%w\n%s is what --server says, or %s%s", err, p.server, serverVariable, hint)
	return cli.Exit(cli.Unreachable, err)
}
