package fleet

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func (r *Reader) budgets(ctx context.Context) ([]disruption.PodBudget, error) {
	return list(ctx, "poddisruptionbudgets.policy", func(ctx context.Context, o metav1.ListOptions, add func(disruption.PodBudget)) (string, error) {
		found, err := r.client.policy.PodDisruptionBudgets("").List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range found.Items {
			add(budgetOf(&found.Items[i]))
		}
		return found.Continue, nil
	})
}

func budgetOf(of *policyv1.PodDisruptionBudget) disruption.PodBudget {
	b := disruption.PodBudget{
		Key: disruption.Key{Namespace: of.Namespace, Name: of.Name}, Selector: of.Spec.Selector,
		Allowed: of.Status.DisruptionsAllowed, Current: of.Status.ObservedGeneration >= of.Generation,
	}
	if of.Spec.UnhealthyPodEvictionPolicy != nil {
		b.UnhealthyPodEvictionPolicy = *of.Spec.UnhealthyPodEvictionPolicy
	}
	return b
}
