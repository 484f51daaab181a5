import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { API, TypeFlags } from 'typescript/unstable/sync';
import { root } from './build.mjs';

/**
 * The JSON Schema of `data` of each event type. They come from the types named `…Event`, whose comments explain them. Fields
 * that the program derives, such as the ids in links, are only in the golden history.
 *
 * @param withheld fields that the program never shows
 */
export function eventSchemas(withheld) {
  const schemas = new Map(goldenSchemas());
  for (const [type, { properties, required, ...schema }] of declaredSchemas()) {
    const derived = schemas.get(type) ?? { properties: {}, required: [] };
    const names = new Set([
      ...Object.keys(derived.properties).filter((name) => !(name in properties)),
      ...Object.keys(properties),
    ]);
    schemas.set(type, {
      ...schema,
      properties: Object.fromEntries(
        [...names].map((name) => [name, properties[name] ?? derived.properties[name]]),
      ),
      required: [...derived.required.filter((name) => !(name in properties)), ...required],
    });
  }
  for (const schema of schemas.values()) {
    const { personal } = schema.properties;
    hide(withheld, schema);
    if (!personal) continue;
    hide(withheld, personal);
    // Once the person was erased.
    schema.properties.personal = orNull(personal);
  }
  for (const schema of schemas.values()) addFormats(schema);
  return schemas;
}

/** Ids that are not ours. */
const OTHER_IDS = /^(public|message|external)Ids?$/;

/** Adds the formats of ids and times, which their names tell. */
function addFormats({ properties = {}, patternProperties = {}, items, anyOf: alternatives = [] }) {
  for (const [name, schema] of Object.entries({ ...properties, ...patternProperties })) {
    const isId = /Ids?(\$|$)/.test(name) && !OTHER_IDS.test(name);
    const value = schema.items ?? schema;
    if (!value.enum && [value.type].flat().includes('string')) {
      if (isId) value.format = 'uuid';
      else if (/At$/.test(name)) value.format = 'date-time';
    }
    addFormats(schema);
  }
  if (items) addFormats(items);
  for (const one of alternatives) addFormats(one);
}

function hide(names, schema) {
  for (const name of names) delete schema.properties[name];
  schema.required = schema.required.filter((name) => !names.includes(name));
}

function declaredSchemas() {
  const api = new API({ cwd: root });
  try {
    const project = join(root, 'scripts/events.tsconfig.json');
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
      const schema = merged(schemaOf(checker, data));
      if (personal) {
        schema.properties.personal = merged(schemaOf(checker, personal));
        // Missing if there never was any.
        if (!membersOf(personal).some((one) => has(one, TypeFlags.Null))) schema.required.push('personal');
      }
      return types.map(({ value }) => [value, structuredClone(schema)]);
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

/** JSON of clients has no fields of ours. Also if it was made optional, which leaves a union without a name. */
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
function schemaOf(checker, type, around = []) {
  if (isJson(checker, type)) return {};
  const members = membersOf(type).filter((member) => !has(member, TypeFlags.Undefined));
  const values = members.filter((member) => member.isStringLiteralType()).map(({ value }) => value);
  const objects = members
    .filter((member) => has(member, TypeFlags.Object | TypeFlags.Intersection))
    .map((member) => objectSchema(checker, member, around));
  const simple = [
    ...new Set(
      members.filter((member) => !member.isStringLiteralType()).flatMap((member) => nameOf(checker, member)),
    ),
  ];
  return anyOf([
    ...simple.filter((name) => name !== 'null').map((name) => ({ type: name })),
    ...(values.length > 0 ? [{ type: 'string', enum: values }] : []),
    ...objects,
    ...(simple.includes('null') ? [{ type: 'null' }] : []),
  ]);
}

/** The JSON type of a type without fields. */
function nameOf(checker, member) {
  if (has(member, TypeFlags.Null)) return ['null'];
  if (has(member, TypeFlags.BooleanLike)) return ['boolean'];
  if (has(member, TypeFlags.NumberLike)) return ['number'];
  return has(member, TypeFlags.StringLike) ? ['string'] : [];
}

function objectSchema(checker, type, around) {
  const isKnown = around.includes(type.id);
  const within = [...around, type.id];
  if (checker.isArrayLikeType(type))
    return {
      type: 'array',
      items: isKnown ? { type: 'object' } : schemaOf(checker, elementOf(checker, type), within),
    };
  if (isKnown) return { type: 'object' };
  const fields = checker.getPropertiesOfType(type).map((symbol) => {
    const ofField = checker.getTypeOfSymbol(symbol);
    const description = symbol.getDocumentationComment(checker);
    return {
      name: symbol.name,
      isOptional: membersOf(ofField).some((one) => has(one, TypeFlags.Undefined)),
      schema: { ...schemaOf(checker, ofField, within), ...(description && { description }) },
    };
  });
  const others = checker
    .getIndexInfosOfType(type)
    .filter(({ valueType }) => !has(valueType, TypeFlags.Never))
    .map(({ keyType, valueType }) => [
      checker
        .typeToString(keyType)
        .replaceAll('`', '')
        .replace(/^(string|\$\{string\})/, '*'),
      schemaOf(checker, valueType, within),
    ]);
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    required: fields.filter(({ isOptional }) => !isOptional).map(({ name }) => name),
    ...(others.length > 0 && {
      patternProperties: Object.fromEntries(others.map(([key, schema]) => [patternOf(key), schema])),
    }),
  };
}

/** Names such as `*Ids` as a regular expression, and back. */
const patternOf = (name) => `^${name.replace('*', '.*')}$`;
const nameOfPattern = (pattern) => pattern.slice(1, -1).replace('.*', '*');

/** One schema for alternatives, which is short if at most one has more than a type. */
function anyOf(schemas) {
  const unique = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  if (unique.length <= 1) return unique[0] ?? {};
  const [longer = {}, ...more] = unique.filter((schema) => Object.keys(schema).join() !== 'type');
  const types = unique.map(({ type }) => type);
  const isNullable = types.length === 2 && types.includes('null');
  if (more.length > 0 || !types.every((type) => typeof type === 'string') || (longer.enum && !isNullable))
    return { anyOf: unique };
  return { ...longer, type: types, ...(longer.enum && { enum: [...longer.enum, null] }) };
}

const orNull = (schema) => ({ ...schema, type: ['object', 'null'] });

/** An object with the fields of all alternatives. Those that some lack are optional. */
function merged(schema) {
  const all = schema.anyOf ?? [schema];
  const objects = all.filter((one) => one.properties);
  const required = (objects[0]?.required ?? []).filter((name) =>
    objects.every((one) => one.required.includes(name)),
  );
  const properties = {};
  for (const object of objects)
    for (const [name, field] of Object.entries(object.properties))
      properties[name] = name in properties ? anyOf([properties[name], field]) : field;
  return { type: 'object', properties, required };
}

function goldenSchemas() {
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
      .map(({ data, personal }) => ({ ...data, ...(personal && { personal }) }));
    return [type, merged(schemaOfValues(bodies))];
  });
}

/** Objects have fields only in `data` and `personal`, because the keys of others can be data. `$salt` is never shown. */
function schemaOfValues(values, depth = 0) {
  const present = values.filter((value) => value !== null);
  const arrays = present.filter(Array.isArray);
  const objects = present.filter((value) => typeof value === 'object' && !Array.isArray(value));
  const names = [...new Set(objects.flatMap(Object.keys))].filter((name) => !name.startsWith('$'));
  const valuesOf = (name) => objects.filter((one) => name in one).map((one) => one[name]);
  const fields = {
    properties: Object.fromEntries(
      names.map((name) => [name, schemaOfValues(valuesOf(name), name === 'personal' ? depth : depth + 1)]),
    ),
    required: names.filter((name) => valuesOf(name).length === objects.length),
  };
  return anyOf([
    // Only texts and ids can be null there.
    ...(present.length === 0 ? [{ type: 'string' }] : []),
    ...(arrays.length > 0 ? [{ type: 'array', items: schemaOfValues(arrays.flat(), depth + 1) }] : []),
    ...(objects.length > 0 ? [{ type: 'object', ...(depth === 0 && fields) }] : []),
    ...present.filter((value) => typeof value !== 'object').map((value) => ({ type: typeof value })),
    ...(present.length < values.length ? [{ type: 'null' }] : []),
  ]);
}

/** The rows of a table: the fields of `data`, with nested ones as `object.field`. */
export function eventFields({ properties = {}, required = [] }, prefix = '') {
  return Object.entries(properties).flatMap(([name, schema]) => [
    // Its fields explain it.
    ...(prefix === '' && name === 'personal'
      ? []
      : [
          {
            name: `${prefix}${name}`,
            type: textOf(schema),
            isOptional: !required.includes(name),
            meaning: schema.description ?? '',
          },
        ]),
    ...nestedIn(schema, `${prefix}${name}`),
  ]);
}

function nestedIn({ anyOf: alternatives, ...schema }, path) {
  const { items, patternProperties: others = {} } = schema;
  const fields = [
    ...(alternatives ?? []).flatMap((one) => nestedIn(one, path)),
    ...eventFields(schema, `${path}.`),
    ...(items ? nestedIn(items, `${path}[]`) : []),
    ...Object.entries(others).flatMap(([pattern, other]) => {
      const name = `${path}.${nameOfPattern(pattern)}`;
      return [{ name, type: textOf(other), isOptional: false, meaning: '' }, ...nestedIn(other, name)];
    }),
  ];
  return [...new Map(fields.map((field) => [field.name, field])).values()];
}

function textOf(schema) {
  const words = wordsOf(schema);
  return words.length === 0 ? 'JSON' : inWords(words);
}

function wordsOf({ anyOf: alternatives, enum: values = [], type = [], items }) {
  return [
    ...(alternatives ?? []).flatMap(wordsOf),
    ...values.filter((value) => value !== null).map((value) => `\`${value}\``),
    ...[type]
      .flat()
      .filter((one) => one !== 'string' || values.length === 0)
      .map((one) => (one === 'array' ? arrayOf(textOf(items)) : one)),
  ];
}

const arrayOf = (text) => `array of ${/^\w+$/.test(text) && text !== 'JSON' ? `${text}s` : text}`;

function inWords(texts) {
  const rank = (text) => (text === 'null' ? 1 : 0);
  return [...new Set(texts)].toSorted((one, other) => rank(one) - rank(other)).join(' or ');
}
