/**
 * npm run walls: checks which folders import which (.dependency-cruiser.cjs), and that docs/internals/house.svg
 * shows it. With --graph, draws the floors of the house into docs/internals/house.svg.
 *
 * One run of dependency-cruiser serves both, because it takes several seconds.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { root } from './build.mjs';

const { forbidden } = createRequire(import.meta.url)('../.dependency-cruiser.cjs');
const FOLDERS = ['src', 'libs', 'locales', 'migrations', 'test'];
const DRAWING = 'docs/internals/house.svg';

/** Runs a program of dependency-cruiser in the current folder, so that tests can check a sample project. */
function run(program, args, input) {
  const options = { input, encoding: 'utf8', maxBuffer: 2 ** 28 };
  return spawnSync(join(root, 'node_modules/.bin', program), args, options);
}

const args = ['--config', '.dependency-cruiser.cjs', ...FOLDERS, '--output-type', 'json'];
const { stdout: result, stderr } = run('depcruise', args);
if (!result) {
  console.error(stderr);
  process.exit(1);
}
const { modules, summary } = JSON.parse(result);
if (summary.error > 0) {
  process.stdout.write(run('depcruise-fmt', ['--output-type', 'err-long', '-'], result).stdout);
  process.exit(1);
}
const drawing = draw(imports(modules));
if (process.argv.includes('--graph')) writeFileSync(DRAWING, drawing);
else if (readFileSync(DRAWING, 'utf8') !== drawing) {
  console.error(`Out of date: ${DRAWING}. Run: npm run walls -- --graph`);
  process.exit(1);
}

/** The imports of each folder that has a door, its index.ts. Files directly in src count as folders. */
function imports(modules) {
  const sources = new Set(modules.map(({ source }) => source));
  const folderOf = (file) => {
    if (/\.(spec|contract)\.|^libs\/testing/.test(file)) return undefined;
    const single = /^(locales|migrations)|^src\/[^/]+\.ts$/.exec(file)?.[0];
    if (single || !/^(src|libs)\//.test(file)) return single;
    let folder = dirname(file);
    while (folder.split('/').length > 2 && !sources.has(`${folder}/index.ts`)) folder = dirname(folder);
    return folder;
  };
  const found = new Map();
  for (const { source, dependencies } of modules) {
    const folder = folderOf(source);
    if (folder === undefined) continue;
    if (!found.has(folder)) found.set(folder, new Set());
    for (const { resolved } of dependencies) {
      const imported = folderOf(resolved);
      if (imported !== undefined && imported !== folder) found.get(folder).add(imported);
    }
  }
  return found;
}

/** Floors from the top down. A folder is in a row above everything that it imports. */
function draw(found) {
  const upper = forbidden
    .filter(({ name }) => name === 'floors-build-upwards')
    .map(({ to }) => new RegExp(to.path));
  const floorOf = (folder) => {
    if (!folder.startsWith('src/')) return 0;
    return 2 + upper.findLastIndex((path) => path.test(folder.endsWith('.ts') ? folder : `${folder}/`));
  };
  const floors = [
    [
      'Techniques',
      'libs, locales, migrations: a lib imports only libs that .dependency-cruiser.cjs lists before it',
    ],
    ['Modules', 'may import each other without a circle, and techniques'],
    ['Pages', 'may import modules and techniques'],
    ['Programs', 'may import everything below'],
  ].map(([name, permitted], floor) => ({
    name,
    permitted,
    folders: [...found.keys()].filter((folder) => floorOf(folder) === floor).toSorted(),
  }));
  const WIDTH = 1_000;
  const BOX = 158;
  const GAP = 8;
  const PER_ROW = 6;
  const shapes = [];
  let y = 0;
  for (const { name, permitted, folders } of floors.toReversed()) {
    const depths = new Map();
    const own = (folder) => [...found.get(folder)].filter((one) => folders.includes(one)).toSorted();
    const depth = (folder) => {
      if (!depths.has(folder)) depths.set(folder, 1 + Math.max(-1, ...own(folder).map(depth)));
      return depths.get(folder);
    };
    const rows = [];
    for (const folder of folders) (rows[depth(folder)] ??= []).push(folder);
    const top = y;
    y += 46;
    for (const row of rows.toReversed().flatMap((one) => chunks(one, PER_ROW))) {
      const boxes = row.map((folder) => ({
        folder,
        lines: wrapped(listOf(found.get(folder), floorOf(folder), floorOf)),
      }));
      const height = 24 + 14 * Math.max(...boxes.map(({ lines }) => lines.length));
      for (const [n, { folder, lines }] of boxes.entries()) {
        const x = 8 + n * (BOX + GAP);
        shapes.push(
          `<rect class="box" x="${x}" y="${y}" width="${BOX}" height="${height}" rx="4"/>`,
          `<text class="name" x="${x + 8}" y="${y + 17}">${folder.replace(/^(src|libs)\//, '')}</text>`,
          ...lines.map((line, at) => `<text x="${x + 8}" y="${y + 32 + 14 * at}">${line}</text>`),
        );
      }
      y += height + GAP;
    }
    shapes.push(
      `<text class="floor" x="8" y="${top + 20}">${name}</text>`,
      `<text x="8" y="${top + 37}">${permitted}</text>`,
    );
    shapes.push(`<line x1="0" x2="${WIDTH}" y1="${y + 2}" y2="${y + 2}"/>`);
    y += 6;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="The floors of the house">
<!-- Generated by scripts/walls.mjs. -->
<style>
  text { font: 11px system-ui, sans-serif; fill: #57606a } .name { font-size: 13px; font-weight: 600; fill: #1f2328 }
  .floor { font-size: 16px; font-weight: 600; fill: #1f2328 } .box { fill: #f6f8fa; stroke: #afb8c1 } line { stroke: #1f2328; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 } .name, .floor { fill: #f0f6fc } .box { fill: #151b23; stroke: #3d444d } line { stroke: #f0f6fc }
  }
</style>
${shapes.join('\n')}
</svg>
`;
}

/** Imports of techniques are listed only for other techniques, because every other folder imports some. */
function listOf(imported, floor, floorOf) {
  const shown = [...imported].filter((one) => floor === 0 || floorOf(one) > 0).toSorted();
  return shown.length === 0 ? '' : `→ ${shown.map((one) => one.replace(/^(src|libs)\//, '')).join(', ')}`;
}

function wrapped(text, width = 24) {
  const lines = [''];
  for (const word of text.split(' ')) {
    if (lines.at(-1) !== '' && `${lines.at(-1)} ${word}`.length > width) lines.push('');
    lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim();
  }
  return lines;
}

function chunks(all, size) {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));
}
