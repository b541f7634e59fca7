package realkube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenSeconds is how long a token of a ServiceAccount lives, longer than any test.
const tokenSeconds = 3600

// Namespace makes a namespace of the given prefix that nobody else has, held to the Pod
// Security level "restricted", and returns its name. labels are added.
func (k *Kube) Namespace(ctx context.Context, prefix string, labels map[string]string) (string, error) {
	all := map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
		"pod-security.kubernetes.io/warn":    "restricted",
	}
	maps.Copy(all, labels)
	made, err := k.core.CoreV1().Namespaces().Create(ctx, &core.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-", Labels: all},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("namespace %s-…: %w", prefix, err)
	}
	return made.Name, nil
}

// Account makes a ServiceAccount where there is none.
func (k *Kube) Account(ctx context.Context, namespace, name string) error {
	_, err := k.core.CoreV1().ServiceAccounts(namespace).Create(ctx, &core.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}, metav1.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return fmt.Errorf("ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return nil
}

// Token is a bearer token of a ServiceAccount for this API server, valid for an hour.
// audiences other than the API server's own are those of another server.
func (k *Kube) Token(ctx context.Context, namespace, account string, audiences ...string) (string, error) {
	seconds := int64(tokenSeconds)
	made, err := k.core.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authentication.TokenRequest{
		Spec: authentication.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of %s/%s: %w", namespace, account, err)
	}
	return made.Status.Token, nil
}

// Kubeconfig writes a file with which a process is that ServiceAccount. server is the URL
// to use instead of the API server's own, that of a Proxy for instance; empty: its own.
func (k *Kube) Kubeconfig(ctx context.Context, namespace, account, server, file string) error {
	token, err := k.Token(ctx, namespace, account)
	if err != nil {
		return err
	}
	text, err := k.kubeconfig(token, namespace, server)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}

// AdminKubeconfig is a kubeconfig with which everything is allowed. server is as for Kubeconfig.
func (k *Kube) AdminKubeconfig(server string) ([]byte, error) {
	return k.kubeconfig(k.token, "", server)
}

func (k *Kube) kubeconfig(token, namespace, server string) ([]byte, error) {
	authority, err := os.ReadFile(k.CAFile)
	if err != nil {
		return nil, err
	}
	const name = "test"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: cmp.Or(server, k.URL), CertificateAuthorityData: authority}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	c.CurrentContext = name
	return clientcmd.Write(*c)
}
