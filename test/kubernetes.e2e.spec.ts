import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { inspectConfig } from '../src/config/index.js';
import { longIt } from './length.js';

const TSC = resolve(__dirname, '../node_modules/.bin/tsc');
const FOLDER = resolve(__dirname, '../deploy/kubernetes');
const read = (name: string): any => parse(readFileSync(join(FOLDER, name), 'utf8'));
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));
/** The modules of kubernetes-types (generated from Kubernetes's OpenAPI document) for each API. */
const KINDS: { [apiVersion: string]: string } = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'policy/v1': 'policy/v1',
  'networking.k8s.io/v1': 'networking/v1',
};
/** Manifests without types in that package. */
const OTHERS = ['kustomization.yaml', 'pod-monitor.yaml'];

const deployment = read('deployment.yaml');
const pod = deployment.spec.template.spec;
const [container] = pod.containers;

/** The compiler's errors about manifests as objects of their kind: unknown, missing and mistyped fields. */
function mistakesOf(manifests: any[]): string[] {
  const source = manifests
    .map(({ apiVersion, kind, ...rest }, n) => {
      const object = JSON.stringify({ apiVersion, kind, ...rest });
      return `import { ${kind} as Kind${n} } from 'kubernetes-types/${KINDS[apiVersion]}';\nexport const manifest${n}: Kind${n} = ${object};`;
    })
    .join('\n');
  // A folder from which the imports resolve.
  const folder = mkdtempSync(join(resolve(__dirname, '../node_modules'), '.manifests-'));
  try {
    const file = join(folder, 'manifests.cts');
    writeFileSync(file, source);
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--types',
      '',
      '--module',
      'node16',
      '--ignoreConfig',
    ];
    const { stdout } = spawnSync(TSC, [...options, file], { encoding: 'utf8' });
    return stdout.split('\n').filter(Boolean);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

longIt('each manifest is valid for Kubernetes', () => {
  const manifests = files.filter((name) => !OTHERS.includes(name)).map(read);
  expect(mistakesOf(manifests)).toEqual([]);
  const { image, ...without } = container;
  const mistaken = structuredClone(deployment);
  mistaken.spec.template.spec.containers = [{ ...without, imge: image }];
  expect(mistakesOf([mistaken]).join()).toContain('\'"imge"\' does not exist');
});

it('kustomization.yaml applies everything but examples, what needs an operator, and the command-line pod', () => {
  const { resources, images } = read('kustomization.yaml');
  const left = ['kustomization.yaml', 'secret.example.yaml', 'pod-monitor.yaml', 'command-line.yaml'];
  expect([...resources, ...left].sort()).toEqual(files.sort());
  const { version } = JSON.parse(readFileSync(resolve(__dirname, '../package.json'), 'utf8'));
  expect(images).toEqual([expect.objectContaining({ name: container.image, newTag: version })]);
});

it('the command-line pod is configured like an instance, receives no requests, and can write files', () => {
  const { metadata, spec } = read('command-line.yaml');
  const [image] = read('kustomization.yaml').images;
  const [commandLine] = spec.containers;
  expect(commandLine).toMatchObject({
    image: `${image.newName}:${image.newTag}`,
    envFrom: container.envFrom,
    securityContext: container.securityContext,
    volumeMounts: [{ name: spec.volumes[0].name, mountPath: commandLine.workingDir }],
  });
  expect(spec.securityContext).toEqual({ ...pod.securityContext, fsGroup: pod.securityContext.runAsGroup });
  expect(metadata.namespace).toBe(read('kustomization.yaml').namespace);
  expect(metadata.labels).not.toEqual(deployment.metadata.labels);
});

it('all manifests select the same pods, and name ports of the container', () => {
  const labels = deployment.spec.template.metadata.labels;
  const selectors = [
    deployment.spec.selector.matchLabels,
    read('service.yaml').spec.selector,
    read('disruption-budget.yaml').spec.selector.matchLabels,
    read('network-policy.yaml').spec.podSelector.matchLabels,
    read('pod-monitor.yaml').spec.selector.matchLabels,
    ...pod.topologySpreadConstraints.map(({ labelSelector }: any) => labelSelector.matchLabels),
  ];
  for (const selector of selectors) expect(selector).toEqual(labels);

  const ports = container.ports.map(({ name }: { name: string }) => name);
  const named = [
    read('service.yaml').spec.ports[0].targetPort,
    ...read('network-policy.yaml').spec.ingress.flatMap(({ ports: of }: any) =>
      of.map(({ port }: any) => port),
    ),
    read('pod-monitor.yaml').spec.podMetricsEndpoints[0].port,
    ...['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => container[probe].httpGet.port),
  ];
  for (const port of named) expect(ports).toContain(port);
  const { name, port } = read('ingress.yaml').spec.rules[0].http.paths[0].backend.service;
  expect([name, port.name]).toEqual(['advocacy', read('service.yaml').spec.ports[0].name]);
});

it('the variables are valid ones that a server reads, and the Secret contains no value', () => {
  const { data } = read('config.yaml');
  const { stringData } = read('secret.example.yaml');
  const known = ['../.env.example', '../scripts/rare.env']
    .map((file) => readFileSync(resolve(__dirname, file), 'utf8'))
    .join('\n');
  for (const name of Object.keys({ ...data, ...stringData }))
    expect(known).toMatch(new RegExp(`^#${name}=`, 'm'));
  expect(Object.values(stringData).join('')).toBe('');

  const key = Buffer.alloc(32, 7).toString('base64');
  const DATABASE_URL = 'postgres://advocacy:password@postgres:5432/advocacy';
  const { config, wrong } = inspectConfig({ ...data, DATABASE_URL, ENCRYPTION_KEY: key });
  expect(wrong).toEqual([]);
  const { containerPort } = container.ports.find(({ name }: { name: string }) => name === 'http');
  expect(containerPort).toBe(config.port);
  expect(Number(data.METRICS_PORT)).toBe(
    container.ports.find(({ name }: { name: string }) => name === 'metrics').containerPort,
  );
});

it('pods have time to end without losing a request', () => {
  const delay = Number(read('config.yaml').data.SHUTDOWN_DELAY);
  // The longest shutdown in src/main.ts.
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(delay + 10);
  const { periodSeconds, failureThreshold } = container.readinessProbe;
  expect(periodSeconds * failureThreshold).toBeLessThan(delay);
  expect(deployment.spec).toMatchObject({
    replicas: expect.any(Number),
    strategy: { rollingUpdate: { maxUnavailable: 0 } },
  });
  expect(read('disruption-budget.yaml').spec.maxUnavailable).toBeLessThan(deployment.spec.replicas);
});

it('the image on its own allows the first start as much time as Kubernetes does', () => {
  const { periodSeconds, failureThreshold } = container.startupProbe;
  const [, hours] = /--start-period=(\d+)h /.exec(readFileSync(resolve(__dirname, '../Dockerfile'), 'utf8'))!;
  expect(periodSeconds * failureThreshold).toBe(Number(hours) * 3_600);
});

it('probes use existing paths', () => {
  const { paths } = JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8'));
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    expect(Object.keys(paths)).toContain(container[probe].httpGet.path);
  }
});
