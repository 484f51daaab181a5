import { type Sql } from '#libs/database';

/**
 * A schema in PostgreSQL's catalog as sorted lines, one per object. Schemas with equal lines work the same for clients. The lines contain no names of owners and no objects of extensions, so that they can be compared between
 * servers and versions of PostgreSQL.
 */
export async function catalogOf(sql: Sql, schema: string): Promise<string[]> {
  const rows = await sql.query<{ line: string }[]>(CATALOG, [schema]);
  return rows.map(({ line }) => line);
}

// NOT NULL is part of its column's line, because only PostgreSQL 18 lists it as a constraint. Unset statistics targets are -1
// before version 17 and null since. Columns have their rank, because attnum counts dropped columns too.
const CATALOG = `
  WITH relation AS (
    SELECT c.*, c.oid AS id FROM pg_class c WHERE c.relnamespace = to_regnamespace($1)
  ), own AS (
    SELECT r.* FROM relation r WHERE NOT EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = r.id AND d.deptype = 'e')
  )
  SELECT line FROM (
    SELECT format('%s %s%s', CASE o.relkind WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' ELSE o.relkind::text END,
      o.relname, coalesce(' with (' || array_to_string(o.reloptions, ', ') || ')', '')) AS line
    FROM own o WHERE o.relkind <> 'i'
    UNION ALL
    SELECT format('column %s %s %s %s%s%s storage %s%s', o.relname,
      row_number() OVER (PARTITION BY o.id ORDER BY a.attnum), a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
      coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''), a.attstorage,
      CASE WHEN coalesce(a.attstattarget, -1) >= 0 THEN ' statistics ' || a.attstattarget ELSE '' END)
    FROM own o JOIN pg_attribute a ON a.attrelid = o.id AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE o.relkind = 'r'
    UNION ALL
    SELECT format('constraint %s %s %s', o.relname, c.conname, pg_get_constraintdef(c.oid))
    FROM own o JOIN pg_constraint c ON c.conrelid = o.id WHERE c.contype <> 'n'
    UNION ALL
    SELECT format('index %s%s%s', pg_get_indexdef(o.id), CASE WHEN i.indisvalid THEN '' ELSE ' invalid' END,
      (SELECT string_agg(format(' statistics %s of column %s', a.attstattarget, a.attnum), '' ORDER BY a.attnum)
       FROM pg_attribute a WHERE a.attrelid = o.id AND coalesce(a.attstattarget, -1) >= 0))
    FROM own o JOIN pg_index i ON i.indexrelid = o.id
    UNION ALL
    SELECT format('sequence %s as %s from %s by %s cache %s owned by %s', o.relname, format_type(s.seqtypid, NULL),
      s.seqstart, s.seqincrement, s.seqcache,
      (SELECT d.refobjid::regclass || '.' || a.attname FROM pg_depend d
       JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
       WHERE d.classid = 'pg_class'::regclass AND d.objid = o.id AND d.deptype = 'a'))
    FROM own o JOIN pg_sequence s ON s.seqrelid = o.id
    UNION ALL
    SELECT format('function %s %s', p.oid::regprocedure, pg_get_functiondef(p.oid))
    FROM pg_proc p WHERE p.pronamespace = to_regnamespace($1) AND p.prokind = 'f' AND NOT EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    UNION ALL
    SELECT format('trigger %s enabled %s', pg_get_triggerdef(t.oid), t.tgenabled)
    FROM own o JOIN pg_trigger t ON t.tgrelid = o.id WHERE NOT t.tgisinternal
    UNION ALL
    SELECT format('privileges %s %s %s', o.relname,
      CASE WHEN p.grantee = o.relowner THEN 'owner' WHEN p.grantee = 0 THEN 'public' ELSE p.grantee::regrole::text END,
      string_agg(p.privilege_type, ', ' ORDER BY p.privilege_type))
    FROM own o, aclexplode(coalesce(o.relacl, acldefault('r', o.relowner))) p
    -- MAINTAIN only exists since PostgreSQL 17.
    WHERE o.relkind = 'r' AND p.privilege_type <> 'MAINTAIN' GROUP BY o.relname, o.relowner, p.grantee
  ) all_ ORDER BY line COLLATE "C"`;
