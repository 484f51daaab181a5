/** Writes an operation's call in curl, TypeScript and Python, from its entry in the collection (postman.mjs). */
import { methodOf } from './client.mjs';

const camelCase = (words) => words.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

/** @returns Markdown. `{{url}}`, `{{key}}` and ids are filled in by the pages at /docs. */
export function examplesOf(item, { tags: [service], responses }, methods) {
  const call = callOf(item, service, methods, responses['200'].content);
  return [
    '<details><summary>curl, TypeScript and Python</summary>',
    block('sh', curlOf(call)),
    block('ts', typescriptOf(call)),
    block('python', pythonOf(call)),
    '</details>',
  ].join('\n\n');
}

const block = (language, code) => `\`\`\`${language}\n${code}\n\`\`\``;

function callOf({ name, request }, service, methods, answers) {
  const { method, url, body, header = [] } = request;
  const [, verb] = name.split('.');
  return {
    method,
    url: url.raw,
    client: `client.${camelCase(service)}.${methodOf(service, verb, methods)}`,
    query: (url.query ?? []).filter(({ disabled }) => !disabled),
    type: header[0]?.value,
    isFile: body?.mode === 'file',
    /** A file's text; images have none. */
    text: body?.file?.content,
    input: body?.raw && JSON.parse(body.raw),
    isStream: Object.keys(answers).some((type) => type === 'application/x-ndjson'),
  };
}

function curlOf({ method, url, type, isFile, text, input }) {
  const lines = [
    `curl${method === 'DELETE' ? ' -X DELETE' : ''} '${url}'`,
    `-H 'Authorization: Bearer {{key}}'`,
    ...(type ? [`-H 'Content-Type: ${type}'`] : []),
    ...(input ? [`-d '${JSON.stringify(input).replaceAll("'", String.raw`'\''`)}'`] : []),
    ...(isFile ? ['--data-binary @-'] : []),
  ];
  const command = lines.join(' \\\n  ');
  if (!isFile) return command;
  return text === undefined ? `${command} < picture.png` : `${command} <<'END'\n${text}\nEND`;
}

function typescriptOf({ client, query, isFile, type, text, input, isStream }) {
  const given = input ?? Object.fromEntries(query.map(({ key, value }) => [key, value]));
  const fields = Object.keys(given).length > 0 ? literal(given, TYPESCRIPT) : '';
  const file = text === undefined ? "readFileSync('picture.png')" : `\`${text}\``;
  const args = isFile ? [file, fields || '{}', `{ contentType: '${type}' }`].join(', ') : fields;
  return [
    ...(isFile && text === undefined ? ["import { readFileSync } from 'node:fs';"] : []),
    "import { createClient } from '@advocacy/client';",
    '',
    "const client = createClient({ url: '{{url}}', key: '{{key}}' });",
    ...(isStream && !isFile
      ? [`for await (const line of ${client}(${args})) console.log(line);`]
      : [`console.log(await ${client}(${args}));`]),
  ].join('\n');
}

function pythonOf({ method, url, type, isFile, text, input }) {
  const headers = { Authorization: 'Bearer {{key}}', ...(type && { 'Content-Type': type }) };
  const data = input
    ? `json.dumps(${literal(input, PYTHON)}).encode()`
    : isFile && (text === undefined ? "open('picture.png', 'rb').read()" : `"""${text}""".encode()`);
  return [
    input ? 'import json\nimport urllib.request' : 'import urllib.request',
    '',
    'request = urllib.request.Request(',
    `    '${url}',`,
    `    method='${method}',`,
    `    headers=${literal(headers, PYTHON)},`,
    ...(data ? [`    data=${data},`] : []),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.read().decode())',
  ].join('\n');
}

const quoted = (text) =>
  `'${text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", String.raw`\'`)
    .replaceAll('\n', String.raw`\n`)}'`;
const TYPESCRIPT = {
  key: (name) => (/^\w+$/.test(name) ? name : quoted(name)),
  open: '{ ',
  close: ' }',
  words: {},
};
const PYTHON = { key: quoted, open: '{', close: '}', words: { true: 'True', false: 'False', null: 'None' } };

function literal(value, language) {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map((one) => literal(one, language)).join(', ')}]`;
  if (value === null || typeof value !== 'object') return language.words[value] ?? String(value);
  const fields = Object.entries(value).map(
    ([name, one]) => `${language.key(name)}: ${literal(one, language)}`,
  );
  return fields.length === 0 ? '{}' : `${language.open}${fields.join(', ')}${language.close}`;
}
