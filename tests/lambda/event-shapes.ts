// Events as the documentation of AWS shows them, with what does not matter here left out.

/** An event, of which only some parts have names. */
export interface LambdaEvent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly requestContext: object;
  readonly [name: string]: unknown;
}

const body = Buffer.from('{"text":"hé"}');

/** A function URL, or an HTTP API with payload 2.0. */
export const functionUrl: LambdaEvent = {
  version: '2.0',
  routeKey: '$default',
  rawPath: '/run/a%20b',
  rawQueryString: 'x=1&x=2&y=%C3%A9',
  cookies: ['a=1', 'b=2'],
  headers: {
    'content-type': 'application/json',
    'x-twice': 'one,two',
    host: 'abc.lambda-url.eu-west-1.on.aws',
    'x-forwarded-proto': 'https',
  },
  requestContext: {
    domainName: 'abc.lambda-url.eu-west-1.on.aws',
    http: {method: 'POST', path: '/run/a b', protocol: 'HTTP/1.1', sourceIp: '203.0.113.1', userAgent: 'curl'},
    requestId: 'id',
    stage: '$default',
  },
  body: body.toString('base64'),
  isBase64Encoded: true,
};

/** A REST API, or an HTTP API with payload 1.0. */
export const restApi: LambdaEvent = {
  resource: '/{proxy+}',
  path: '/run/a%20b',
  httpMethod: 'POST',
  headers: {'Content-Type': 'application/json', 'X-Twice': 'two', Cookie: 'a=1; b=2', Host: 'api.example'},
  multiValueHeaders: {
    'Content-Type': ['application/json'],
    'X-Twice': ['one', 'two'],
    Cookie: ['a=1; b=2'],
    Host: ['api.example'],
  },
  queryStringParameters: {x: '2', y: 'é'},
  multiValueQueryStringParameters: {x: ['1', '2'], y: ['é']},
  pathParameters: {proxy: 'run/a b'},
  requestContext: {domainName: 'api.example', httpMethod: 'POST', path: '/prod/run/a b', stage: 'prod', requestId: 'id'},
  body: body.toString(),
  isBase64Encoded: false,
};

/** A load balancer without multi-value headers: the query is not decoded. */
export const loadBalancer: LambdaEvent = {
  requestContext: {elb: {targetGroupArn: 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/one/1'}},
  httpMethod: 'POST',
  path: '/run/a%20b',
  queryStringParameters: {x: '2', y: '%C3%A9'},
  headers: {'content-type': 'application/json', 'x-twice': 'one, two', cookie: 'a=1; b=2', host: 'lb.example', 'x-forwarded-proto': 'http'},
  body: body.toString(),
  isBase64Encoded: false,
};

/** The same with them. */
export const loadBalancerMany: LambdaEvent = {
  requestContext: loadBalancer.requestContext,
  httpMethod: 'POST',
  path: '/run/a%20b',
  multiValueQueryStringParameters: {x: ['1', '2'], y: ['%C3%A9']},
  multiValueHeaders: {
    'content-type': ['application/json'],
    'x-twice': ['one', 'two'],
    cookie: ['a=1; b=2'],
    host: ['lb.example'],
    'x-forwarded-proto': ['http'],
  },
  body: body.toString(),
  isBase64Encoded: false,
};
