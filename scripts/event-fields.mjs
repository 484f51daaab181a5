import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { API, TypeFlags } from 'typescript/unstable/sync';
import { root } from './build.mjs';

/**
 * The fields in `data` of each event type, with nested ones as `object.field`. They come from the types named `…Event`, whose
 * comments explain them. Fields that the program derives, such as the ids in links, are only in the golden history.
 *
 * @returns by type of event: fields `{ name, type, isOptional, meaning }`
 */
export function eventFields() {
  const found = new Map(goldenEvents());
  for (const [type, fields] of declaredEvents()) {
    const names = new Set(fields.map(({ name }) => name));
    const derived = (found.get(type) ?? []).filter(({ name }) => !names.has(name));
    found.set(type, [...derived, ...fields]);
  }
  return found;
}

function declaredEvents() {
  const api = new API({ cwd: root });
  try {
    const project = join(root, 'tsconfig.json');
    const [{ checker, program }] = api.updateSnapshot({ openProject: project }).getProjects();
    const files = program
      .getSourceFileNames()
      .filter((name) => name.startsWith(join(root, 'src/')))
      .filter((name) => EVENT_TYPE.test(readFileSync(name, 'utf8')));
    const events = files.flatMap((name) =>
      program
        .getSourceFile(name)
        .statements.filter((statement) => EVENT_TYPE.test(statement.getText()))
        .flatMap(({ type }) => membersOf(checker.getTypeFromTypeNode(type))),
    );
    return events.flatMap((event) => {
      const { type, data, personal } = Object.fromEntries(
        checker.getPropertiesOfType(event).map((part) => [part.name, checker.getTypeOfSymbol(part)]),
      );
      const types = type ? membersOf(type).filter((one) => one.isStringLiteralType()) : [];
      if (types.length === 0) return [];
      const fields = [
        ...nestedIn(checker, data, ''),
        ...(personal ? nestedIn(checker, personal, 'personal.') : []),
      ];
      // Members of a union can have the same field.
      const unique = [...new Map(fields.map((field) => [field.name, field])).values()];
      return types.map(({ value }) => [value, unique]);
    });
  } finally {
    api.close();
  }
}

const EVENT_TYPE = /^\s*(export )?type \w+Event =/m;
const membersOf = (type) => (type.isUnionType() ? type.getTypes() : [type]);
const has = ({ flags }, wanted) => (flags & wanted) !== 0;
const elementOf = (checker, array) =>
  checker.getIndexInfosOfType(array).find(({ keyType }) => has(keyType, TypeFlags.Number)).valueType;

/** Objects and arrays among the members of a type. JSON of clients has no fields of ours. */
function objectsIn(checker, type) {
  return isJson(checker, type)
    ? []
    : membersOf(type).filter((member) => has(member, TypeFlags.Object | TypeFlags.Intersection));
}

/** Also if it was made optional, which leaves a union without a name. */
function isJson(checker, type) {
  const isNamed = (one) => /^Json/.test(one.getAliasSymbol()?.name ?? '');
  return (
    isNamed(type) ||
    membersOf(type).some(
      (member) => isNamed(member) || (checker.isArrayType(member) && isNamed(elementOf(checker, member))),
    )
  );
}

/** @param around the types that contain it, because conditions of segments contain conditions. */
function nestedIn(checker, type, prefix, around = []) {
  return objectsIn(checker, type).flatMap((member) => {
    if (around.includes(member.id)) return [];
    const within = [...around, member.id];
    if (checker.isArrayLikeType(member))
      return nestedIn(checker, elementOf(checker, member), `${prefix.slice(0, -1)}[].`, within);
    const named = checker
      .getPropertiesOfType(member)
      .map((symbol) => [symbol.name, checker.getTypeOfSymbol(symbol), symbol]);
    const others = checker
      .getIndexInfosOfType(member)
      .map(({ keyType, valueType }) => [
        checker
          .typeToString(keyType)
          .replaceAll('`', '')
          .replace(/^(string|\$\{string\})/, '*'),
        valueType,
      ])
      .filter(([, ofField]) => !has(ofField, TypeFlags.Never));
    return [...named, ...others].flatMap(([key, ofField, symbol]) => {
      const name = `${prefix}${key}`;
      const isOptional = membersOf(ofField).some((one) => has(one, TypeFlags.Undefined));
      const meaning = symbol?.getDocumentationComment(checker) ?? '';
      return [
        { name, type: textOf(checker, ofField), isOptional, meaning },
        ...nestedIn(checker, ofField, `${name}.`, within),
      ];
    });
  });
}

function textOf(checker, type) {
  if (isJson(checker, type)) return 'JSON';
  const texts = membersOf(type).map((member) => {
    if (member.isStringLiteralType()) return `\`${member.value}\``;
    if (has(member, TypeFlags.BooleanLike)) return 'boolean';
    if (checker.isArrayLikeType(member)) return arrayOf(textOf(checker, elementOf(checker, member)));
    return has(member, TypeFlags.Object | TypeFlags.Intersection) ? 'object' : checker.typeToString(member);
  });
  return inWords(texts);
}

const arrayOf = (text) => `array of ${/^\w+$/.test(text) && text !== 'JSON' ? `${text}s` : text}`;

function inWords(texts) {
  const rank = (text) => (text === 'null' ? 1 : 0);
  return [...new Set(texts)]
    .filter((text) => text !== 'undefined')
    .toSorted((one, other) => rank(one) - rank(other))
    .join(' or ');
}

function goldenEvents() {
  const events = readFileSync(join(root, 'test/golden/history.ndjson'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type !== undefined);
  return [...new Set(events.map(({ type }) => type))].map((type) => {
    const ofType = events.filter((event) => event.type === type);
    const newest = Math.max(...ofType.map(({ schema }) => schema));
    const bodies = ofType
      .filter(({ schema }) => schema === newest)
      .map(({ data, personal }) => ({ ...data, ...prefixed(personal) }));
    const names = new Set(bodies.flatMap(Object.keys));
    const fields = [...names].map((name) => {
      const values = bodies.filter((body) => name in body).map((body) => body[name]);
      return {
        name,
        // Only texts and ids can be null there.
        type: inWords(values.every((value) => value === null) ? ['string', 'null'] : values.map(typeOfValue)),
        isOptional: values.length < bodies.length,
        meaning: '',
      };
    });
    return [type, fields];
  });
}

/** `$salt` is never shown. */
function prefixed(personal) {
  return Object.fromEntries(
    Object.entries(personal ?? {})
      .filter(([name]) => !name.startsWith('$'))
      .map(([name, value]) => [`personal.${name}`, value]),
  );
}

function typeOfValue(value) {
  if (value === null) return 'null';
  return Array.isArray(value) ? arrayOf(inWords(value.map(typeOfValue)) || 'string') : typeof value;
}
