package upload

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const (
	s3Providers     = "fs.s3a.aws.credentials.provider"
	s3RoleProviders = "fs.s3a.assumed.role.credentials.provider"
)

// noCredentials says that no provider had a secret.
type noCredentials struct{ err error }

func (e *noCredentials) Error() string { return noS3Secrets + ": " + e.err.Error() }

func (e *noCredentials) Unwrap() error { return e.err }

// awsConfig is the SDK's configuration with the credentials that the keys ask for.
func (c s3Conf) awsConfig(ctx context.Context, client *http.Client) (aws.Config, error) {
	names := c.get(s3Providers)
	provider, machine, err := c.provider(names)
	if err != nil {
		return aws.Config{}, err
	}
	cfg := aws.Config{HTTPClient: client}
	if machine {
		opts := []func(*config.LoadOptions) error{config.WithHTTPClient(client)}
		if p := c.getenv("AWS_PROFILE"); p != "" {
			opts = append(opts, config.WithSharedConfigProfile(p))
		}
		if cfg, err = config.LoadDefaultConfig(ctx, opts...); err != nil {
			return cfg, fmt.Errorf("this machine's AWS configuration cannot be read: %w", err)
		}
		provider = cfg.Credentials
	}
	if containsProvider(names, "AssumedRoleCredentialProvider") {
		if provider, err = c.assumedRole(cfg, provider); err != nil {
			return cfg, err
		}
	}
	if _, anonymous := provider.(aws.AnonymousCredentials); anonymous { // the SDK looks for this very type
		cfg.Credentials = provider
	} else {
		cfg.Credentials = explained{provider}
	}
	return cfg, nil
}

func containsProvider(names, name string) bool {
	for n := range strings.SplitSeq(names, ",") {
		if simpleName(n) == name {
			return true
		}
	}
	return false
}

// simpleName cuts the package off a class.
func simpleName(class string) string {
	class = strings.TrimSpace(class)
	return class[strings.LastIndexAny(class, ".$")+1:]
}

// provider finds credentials that need no server, in the order of the named provider classes or of Hadoop's default.
// machine says that this machine's own are to be used.
func (c s3Conf) provider(names string) (p aws.CredentialsProvider, machine bool, err error) {
	if names == "" {
		names = "TemporaryAWSCredentialsProvider,SimpleAWSCredentialsProvider,EnvironmentVariableCredentialsProvider,IAMInstanceCredentialsProvider"
	}
	for name := range strings.SplitSeq(names, ",") {
		switch simpleName(name) {
		case "":
		case "TemporaryAWSCredentialsProvider":
			if c.get("fs.s3a.session.token") != "" {
				p = c.fromKeys()
			}
		case "SimpleAWSCredentialsProvider":
			p = c.fromKeys()
		case "EnvironmentVariableCredentialsProvider":
			p = c.fromEnv()
		case "AnonymousAWSCredentialsProvider", "AnonymousCredentialsProvider":
			return aws.AnonymousCredentials{}, false, nil
		case "AssumedRoleCredentialProvider":
			return c.provider(c.get(s3RoleProviders))
		case "IAMInstanceCredentialsProvider", "InstanceProfileCredentialsProvider", "EC2ContainerCredentialsProviderWrapper",
			"ContainerCredentialsProvider", "WebIdentityTokenCredentialsProvider", "WebIdentityTokenFileCredentialsProvider",
			"ProfileCredentialsProvider", "ProfileAWSCredentialsProvider", "DefaultAWSCredentialsProviderChain", "DefaultCredentialsProvider":
			if p = c.fromEnv(); p == nil {
				machine = true
			}
		default:
			return nil, false, fmt.Errorf("%s%s: native submission has nothing for %s; give keys, use one of Hadoop's own providers, "+
				"or set spark.kubespark.submit.fallback=spark-submit", sparkPrefix, s3Providers, strings.TrimSpace(name))
		}
		if p != nil || machine {
			return p, machine, nil
		}
	}
	if err := c.credentialFiles(c.keys("fs.s3a.security.credential.provider.path")...); err != nil {
		return nil, false, err
	}
	return nil, false, &noCredentials{fmt.Errorf("none of %s has any", names)}
}

func (c s3Conf) fromKeys() aws.CredentialsProvider {
	id, secret := c.get("fs.s3a.access.key"), c.get("fs.s3a.secret.key")
	if id == "" || secret == "" {
		return nil
	}
	return credentials.NewStaticCredentialsProvider(id, secret, c.get("fs.s3a.session.token"))
}

func (c s3Conf) fromEnv() aws.CredentialsProvider {
	id, secret := c.getenv("AWS_ACCESS_KEY_ID"), c.getenv("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return nil
	}
	return credentials.NewStaticCredentialsProvider(id, secret, c.getenv("AWS_SESSION_TOKEN"))
}

// assumedRole exchanges credentials for those of a role.
func (c s3Conf) assumedRole(cfg aws.Config, base aws.CredentialsProvider) (aws.CredentialsProvider, error) {
	arn := c.get("fs.s3a.assumed.role.arn")
	if arn == "" {
		return nil, fmt.Errorf("%sfs.s3a.assumed.role.arn is not set, and %s needs it", sparkPrefix, s3Providers)
	}
	cfg.Credentials = base
	api := sts.NewFromConfig(cfg, func(o *sts.Options) {
		if o.Region = c.get("fs.s3a.assumed.role.sts.endpoint.region"); o.Region == "" {
			o.Region = c.region(cfg.Region, c.endpoint())
		}
		if o.Region == "" {
			o.Region = s3CentralArea
		}
		if e := c.get("fs.s3a.assumed.role.sts.endpoint"); e != "" {
			if !strings.Contains(e, "://") {
				e = "https://" + e
			}
			o.BaseEndpoint = aws.String(e)
		}
	})
	return aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(api, arn, func(o *stscreds.AssumeRoleOptions) {
		if name := c.get("fs.s3a.assumed.role.session.name"); name != "" {
			o.RoleSessionName = name
		}
		if id := c.get("fs.s3a.assumed.role.external.id"); id != "" {
			o.ExternalID = &id
		}
		if policy := c.get("fs.s3a.assumed.role.policy"); policy != "" {
			o.Policy = &policy
		}
		if d, err := time.ParseDuration(c.get("fs.s3a.assumed.role.session.duration")); err == nil {
			o.Duration = d
		}
	})), nil
}

// explained marks the error of a provider, so that a missing secret is told from a refusal.
type explained struct{ aws.CredentialsProvider }

// Retrieve asks the provider.
func (e explained) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := e.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return c, &noCredentials{err}
	}
	return c, nil
}
