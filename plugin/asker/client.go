package asker

import (
	"cmp"
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Where the throttle is, by the names of our command line. Beside BMO none is needed.
const (
	serverVariable = "IRONIC_THROTTLE_URL"
	tokenVariable  = "IRONIC_THROTTLE_TOKEN_FILE"
	caVariable     = "IRONIC_THROTTLE_CA_FILE"
	beside         = "http://127.0.0.1:8087"
)

// NewClient returns a client of the throttle that the environment names.
func NewClient(getenv func(string) string) (*api.Client, error) {
	client, err := api.NewClient(cmp.Or(getenv(serverVariable), beside),
		api.Options{TokenFile: getenv(tokenVariable), RootCAs: getenv(caVariable)})
	if err != nil {
		return nil, fmt.Errorf("%s or %s: %w", serverVariable, caVariable, err)
	}
	return client, nil
}
