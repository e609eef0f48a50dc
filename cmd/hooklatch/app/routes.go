package app

import (
	"errors"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/worker"
)

// routesOf makes the worker's routes.
func routesOf(cfg *config.Config) []worker.Route {
	routes := make([]worker.Route, 0, len(cfg.Routes))
	for _, r := range cfg.Routes {
		route := worker.Route{
			Name: r.Name, From: r.From, Types: r.Types, When: r.When, Key: r.Key, To: r.To,
			OrderBy: r.OrderBy, OnPark: r.OnPark, LatestBy: r.LatestBy,
		}
		if r.Refetch != nil {
			route.Refetch = &worker.Refetch{
				URL: r.Refetch.URL, Auth: r.Refetch.Auth, Bearer: r.Refetch.Bearer,
				AllowPrivate: cfg.Destinations[r.To].AllowPrivate,
			}
		}
		if r.Forward != nil {
			route.Forward = &worker.Forward{Headers: r.Forward.Headers, Allow: r.Forward.Allow}
		}
		if r.SQL != nil {
			route.SQL = &worker.SQLStatement{Statement: r.SQL.Statement, Params: r.SQL.Params}
		}
		if r.HTTP != nil {
			route.HTTP = &worker.HTTPRequest{Method: r.HTTP.Method, URL: r.HTTP.URL, Body: r.HTTP.Body, Headers: r.HTTP.Headers}
		}
		if r.Email != nil {
			route.Email = &worker.EmailMessage{Recipient: r.Email.Recipient, Subject: r.Email.Subject, Text: r.Email.Text, HTML: r.Email.HTML}
		}
		routes = append(routes, route)
	}
	return routes
}

// CheckConfig finds what the file alone does not tell: secrets no sender can
// use, expressions and templates that do not compile. Its error joins
// config.Problems.
func CheckConfig(cfg *config.Config) error {
	_, sourceErr := sourcesOf(cfg)
	made, err := destinationsOf(cfg, noop.NewTracerProvider())
	if err != nil {
		return errors.Join(sourceErr, err)
	}
	return errors.Join(sourceErr, routeProblems(cfg, worker.CheckRoutes(routesOf(cfg), made.list)))
}

// Warnings finds what is allowed and probably not meant: business keys that
// swallow events. They are config.Problems too.
func Warnings(cfg *config.Config) []error {
	var warnings []error
	for _, w := range worker.KeyWarnings(routesOf(cfg)) {
		for i, r := range cfg.Routes {
			if r.Name == w.Route {
				warnings = append(warnings, cfg.Problem("routes["+strconv.Itoa(i)+"].key", fmt.Sprintf("%q %s", w.Key, w.Text)))
			}
		}
	}
	return warnings
}

// routeProblems gives every fault of a route its place in the file.
func routeProblems(cfg *config.Config, err error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error }) // an errors.Join, whose parts are wanted one by one
	if !ok {
		return routeProblem(cfg, err)
	}
	var problems []error
	for _, one := range joined.Unwrap() {
		problems = append(problems, routeProblem(cfg, one))
	}
	return errors.Join(problems...)
}

func routeProblem(cfg *config.Config, err error) error {
	fault, ok := errors.AsType[*worker.RouteError](err)
	if !ok {
		return err
	}
	for i, r := range cfg.Routes {
		if r.Name != fault.Route {
			continue
		}
		message := fault.Err.Error()
		if fault.Expression != "" {
			message = fmt.Sprintf("%q: %s", fault.Expression, message)
		}
		return cfg.Problem("routes["+strconv.Itoa(i)+"]."+fault.Field, message)
	}
	return err
}
