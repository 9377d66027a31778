// Writes src/api/types.ts from the OpenAPI document of a server: one interface per schema, and the list of routes.
// Descriptions are left out, so that a change of wording does not change the file.
//
//   node tools/api-types.mjs URL|PROGRAM            writes the file; a program is started and asked
//   node tools/api-types.mjs URL|PROGRAM --check    fails if the file would change
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const target = fileURLToPath(new URL('../src/api/types.ts', import.meta.url));

function typeOf(schema) {
  if (schema === undefined || schema === true) return 'unknown';
  if (schema.$ref) return schema.$ref.split('/').pop();
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ');
  if (schema.oneOf || schema.anyOf) return (schema.oneOf ?? schema.anyOf).map(typeOf).join(' | ');
  switch (schema.type) {
    case 'string': return 'string';
    case 'integer':
    case 'number': return 'number';
    case 'boolean': return 'boolean';
    case 'array': {
      const item = typeOf(schema.items);
      return item.includes(' | ') ? `(${item})[]` : `${item}[]`;
    }
    case 'object':
      if (schema.properties) return `{\n${fields(schema, '    ')}  }`;
      return `Record<string, ${typeOf(schema.additionalProperties)}>`;
    default: return 'unknown';
  }
}

function fields(schema, indent) {
  const required = new Set(schema.required ?? []);
  let text = '';
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    text += `${indent}${name}${required.has(name) ? '' : '?'}: ${typeOf(property)};\n`;
  }
  return text;
}

function declaration([name, schema]) {
  const closed = schema.type === 'object' && schema.properties;
  if (!closed) return `export type ${name} = ${schema.type === 'object' && schema.additionalProperties === false ? 'Record<string, never>' : typeOf(schema)};\n`;
  return `export interface ${name} {\n${fields(schema, '  ')}}\n`;
}

/** The values of an enumeration, for code that lists them. */
function valuesOf(document, name, type, field) {
  const values = document.components.schemas[type].properties[field].enum;
  return `export const ${name}: readonly ${type}['${field}'][] = [\n${values.map((value) => `  '${value}',\n`).join('')}];\n`;
}

export function typesOf(document) {
  const routes = [];
  for (const [path, methods] of Object.entries(document.paths))
    for (const method of Object.keys(methods)) routes.push(`${method.toUpperCase()} ${path}`);
  const schemas = Object.entries(document.components.schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    '// Made by `npm run types` from /openapi.json; do not edit. The suite `browser` compares it with the server.\n',
    ...schemas.map(declaration),
    valuesOf(document, 'publicStates', 'ExecutionSummary', 'public_state'),
    valuesOf(document, 'eventTypes', 'Event', 'type'),
    `/** Every route of the server that this dashboard is built into. */\nexport const routes: readonly string[] = [\n${routes.sort().map((route) => `  '${route}',\n`).join('')}];\n`,
  ].join('\n');
}

async function fetchDocument(url) {
  const response = await fetch(`${url.replace(/\/$/, '')}/openapi.json`);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.json();
}

/** Starts the server on an empty store, asks it and stops it. */
async function askProgram(program) {
  const server = spawn(program, ['serve', '--store', 'memory:', '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const url = await new Promise((resolve, reject) => {
      let output = '';
      const read = (data) => {
        output += data;
        const address = /serves .* at (http:\S+)/.exec(output)?.[1];
        if (address) resolve(address);
      };
      server.stdout.on('data', read);
      server.stderr.on('data', read);
      server.once('error', reject);
      server.once('exit', () => reject(new Error(`${program} ended: ${output}`)));
    });
    return await fetchDocument(url);
  } finally {
    server.kill('SIGTERM');
  }
}

const load = (source) => (/^https?:/.test(source) ? fetchDocument(source) : askProgram(source));

async function main() {
  const [source = 'http://127.0.0.1:7070', option] = process.argv.slice(2);
  const text = typesOf(await load(source));
  if (option !== '--check') return writeFileSync(target, text);
  if (readFileSync(target, 'utf8') === text) return undefined;
  console.error('web/src/api/types.ts differs from /openapi.json of the server. Run ./dev docs.');
  process.exit(1);
}

await main();
