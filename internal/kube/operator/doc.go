// Package operator reads BMO's Deployment: how many hosts BMO works on at once, by which
// limit, and where its Ironic is.
//
//	operator.go  the Deployment, and all that is read of it
//	variables.go the environment of BMO's container, as the kubelet makes it
//	workers.go   how many reconcile workers BMO has, by BMO's own rules
//	ironic.go    where BMO's Ironic is, and the files that are needed to reach it
//	tell.go      the Event on the Deployment
//
// Its rights: get the Deployment and the ConfigMaps that it names, create Events; where
// Ironic's credentials are to be found too, get their Secrets. Nothing is listed or watched.
package operator
