package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/sync/errgroup"
)

const (
	s3SinglePut    = 32 << 20 // up to here a file goes in one request
	s3PartSize     = 16 << 20
	s3MaxParts     = 10_000
	s3Parallel     = 4
	s3CentralArea  = "us-east-1"
	sparkPrefix    = "spark.hadoop."
	noS3Secrets    = "no S3 credentials were found: set spark.hadoop.fs.s3a.access.key and spark.hadoop.fs.s3a.secret.key, or give this machine's own (environment, profile, role)"
	s3DefaultACL   = "fs.s3a.acl.default"
	s3EncryptAlgo  = "fs.s3a.encryption.algorithm"
	s3EncryptOlder = "fs.s3a.server-side-encryption-algorithm"
)

// s3Conf is the configuration of one bucket: fs.s3a.bucket.NAME.x wins over fs.s3a.x.
type s3Conf struct {
	*hadoopConf
	bucket string
}

func (c s3Conf) keys(keys ...string) []string {
	var all []string
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k, "fs.s3a."); ok {
			all = append(all, "fs.s3a.bucket."+c.bucket+"."+rest)
		}
		all = append(all, k)
	}
	return all
}

func (c s3Conf) get(keys ...string) string { return c.hadoopConf.get(c.keys(keys...)...) }

func (c s3Conf) getBool(def bool, key string) bool { return c.hadoopConf.getBool(def, c.keys(key)...) }

// s3Store is one bucket.
type s3Store struct {
	conf    s3Conf
	http    *http.Client
	makeAPI func(region string) *s3.Client

	mu     sync.Mutex
	api    *s3.Client
	region string // "" until it is asked for
}

func openS3(ctx context.Context, h *hadoopConf, at Location) (store, error) {
	if at.Authority == "" {
		return nil, fmt.Errorf("%s names no bucket", at)
	}
	c := s3Conf{h, at.Authority}
	client := httpClient()
	cfg, err := c.awsConfig(ctx, client)
	if err != nil {
		return nil, err
	}
	endpoint := c.endpoint()
	s := &s3Store{conf: c, http: client, region: c.region(cfg.Region, endpoint)}
	s.makeAPI = func(region string) *s3.Client {
		return s3.NewFromConfig(cfg, func(o *s3.Options) {
			o.Region = region
			o.UsePathStyle = c.getBool(false, "fs.s3a.path.style.access")
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired // older servers know no other
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
			if endpoint != "" {
				o.BaseEndpoint = aws.String(endpoint)
			}
		})
	}
	return s, nil
}

// endpoint is the server's URL, "" for Amazon's of the bucket's region.
func (c s3Conf) endpoint() string {
	e := strings.TrimSuffix(c.get("fs.s3a.endpoint"), "/")
	switch {
	case e == "", e == "s3.amazonaws.com", strings.HasSuffix(e, "//s3.amazonaws.com"):
		return ""
	case strings.Contains(e, "://"):
		return e
	case c.getBool(true, "fs.s3a.connection.ssl.enabled"):
		return "https://" + e
	}
	return "http://" + e
}

var s3EndpointRegion = regexp.MustCompile(`(?:^|[./])s3[.-](?:fips\.|dualstack\.|fips-)?([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?amazonaws\.com`)

// region is that of the keys, the environment or the endpoint's name; "" means that Amazon has to be asked.
func (c s3Conf) region(machine, endpoint string) string {
	for _, r := range []string{c.get("fs.s3a.endpoint.region"), c.getenv("AWS_REGION"), c.getenv("AWS_DEFAULT_REGION")} {
		if r != "" && r != "sdk" {
			return r
		}
	}
	if m := s3EndpointRegion.FindStringSubmatch(endpoint); m != nil {
		return m[1]
	}
	if machine == "" && endpoint != "" {
		return s3CentralArea
	}
	return machine
}

// client returns the API of the bucket's region.
func (s *s3Store) client(ctx context.Context) (*s3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.api != nil {
		return s.api, nil
	}
	if s.region == "" {
		region, err := s.askRegion(ctx)
		if err != nil {
			return nil, err
		}
		s.region = region
	}
	s.api = s.makeAPI(s.region)
	return s.api, nil
}

// askRegion learns a bucket's region from any answer of Amazon's, a refusal included.
func (s *s3Store) askRegion(ctx context.Context) (string, error) {
	const header = "X-Amz-Bucket-Region"
	var seen *smithyhttp.Response
	_, err := s.makeAPI(s3CentralArea).HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.conf.bucket})
	var re *smithyhttp.ResponseError
	switch {
	case err == nil:
		return s3CentralArea, nil
	case errors.As(err, &re):
		seen = re.Response
	}
	if seen != nil && seen.Header.Get(header) != "" {
		return seen.Header.Get(header), nil
	}
	return "", s.explain(fmt.Errorf("ask for the bucket's region: %w", err))
}

func (s *s3Store) put(ctx context.Context, at Location, src *os.File, size int64, wrote func(int64)) error {
	api, err := s.client(ctx)
	if err != nil {
		return err
	}
	ctx = counted(ctx, wrote)
	if size > s3SinglePut {
		return s.explain(s.putParts(ctx, api, at.key(), src, size))
	}
	in := &s3.PutObjectInput{Bucket: &s.conf.bucket, Key: aws.String(at.key()), Body: io.NewSectionReader(src, 0, size),
		ContentLength: &size, ACL: s.acl()}
	in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
	_, err = api.PutObject(ctx, in)
	return s.explain(err)
}

// putParts sends a large file in parts, side by side, straight from the disk.
func (s *s3Store) putParts(ctx context.Context, api *s3.Client, key string, src io.ReaderAt, size int64) (err error) {
	create := &s3.CreateMultipartUploadInput{Bucket: &s.conf.bucket, Key: &key, ACL: s.acl()}
	create.ServerSideEncryption, create.SSEKMSKeyId = s.encryption()
	started, err := api.CreateMultipartUpload(ctx, create)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
			defer cancel()
			_, aerr := api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.conf.bucket, Key: &key, UploadId: started.UploadId})
			if aerr != nil {
				err = fmt.Errorf("%w (and the parts already sent could not be removed: %w)", err, aerr)
			}
		}
	}()
	part := max(s3PartSize, (size+s3MaxParts-1)/s3MaxParts)
	done := make([]types.CompletedPart, (size+part-1)/part)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s3Parallel)
	for i := range done {
		number, from := int32(i+1), int64(i)*part //nolint:gosec // at most 10,000
		length := min(part, size-from)
		g.Go(func() error {
			out, err := api.UploadPart(gctx, &s3.UploadPartInput{Bucket: &s.conf.bucket, Key: &key, UploadId: started.UploadId,
				PartNumber: &number, Body: io.NewSectionReader(src, from, length), ContentLength: &length})
			if err != nil {
				return err
			}
			done[i] = types.CompletedPart{ETag: out.ETag, PartNumber: &number}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	_, err = api.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &s.conf.bucket, Key: &key, UploadId: started.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: done}})
	return err
}

// encryption is how the bucket's keys want objects stored.
func (s *s3Store) encryption() (types.ServerSideEncryption, *string) {
	switch strings.ToUpper(s.conf.get(s3EncryptAlgo, s3EncryptOlder)) {
	case "AES256", "SSE-S3":
		return types.ServerSideEncryptionAes256, nil
	case "SSE-KMS":
		if k := s.conf.get("fs.s3a.encryption.key", "fs.s3a.server-side-encryption.key"); k != "" {
			return types.ServerSideEncryptionAwsKms, &k
		}
		return types.ServerSideEncryptionAwsKms, nil
	}
	return "", nil
}

// acl turns Hadoop's name of a canned ACL, BucketOwnerFullControl, into S3's, bucket-owner-full-control.
func (s *s3Store) acl() types.ObjectCannedACL {
	var out strings.Builder
	for i, r := range s.conf.get(s3DefaultACL) {
		if i > 0 && r >= 'A' && r <= 'Z' {
			out.WriteByte('-')
		}
		out.WriteRune(r)
	}
	return types.ObjectCannedACL(strings.ToLower(out.String()))
}

func (s *s3Store) remove(ctx context.Context, at Location) error {
	api, err := s.client(ctx)
	if err != nil {
		return err
	}
	_, err = api.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.conf.bucket, Key: aws.String(at.key())})
	return s.explain(err)
}

func (s *s3Store) list(ctx context.Context, at Location) ([]entry, error) {
	api, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	prefix := at.key()
	var out []entry
	pages := s3.NewListObjectsV2Paginator(api, &s3.ListObjectsV2Input{Bucket: &s.conf.bucket, Prefix: &prefix, Delimiter: aws.String("/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.explain(err)
		}
		for _, o := range page.Contents {
			out = appendObject(out, strings.TrimPrefix(aws.ToString(o.Key), prefix))
		}
		for _, p := range page.CommonPrefixes {
			out = appendObject(out, strings.TrimPrefix(aws.ToString(p.Prefix), prefix))
		}
	}
	return out, nil
}

// appendObject adds what a listing with / as delimiter calls name: a folder ends with a slash, the folder itself is "".
func appendObject(out []entry, name string) []entry {
	base, folder := strings.CutSuffix(name, "/")
	if base == "" {
		return out
	}
	return append(out, entry{base, folder})
}

func (s *s3Store) close() error {
	s.http.CloseIdleConnections()
	return nil
}

// explain words what S3 answered.
func (s *s3Store) explain(err error) error {
	var none *noCredentials
	var api smithy.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &none):
		return none
	case errors.As(err, &api):
		return &answerError{store: "S3", of: "bucket " + s.conf.bucket, code: api.ErrorCode(), text: api.ErrorMessage(), err: err}
	}
	return err
}
