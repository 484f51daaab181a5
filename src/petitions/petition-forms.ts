import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type Past } from '#libs/event-store';
import { Resources } from '#libs/resources';
import { invalid, type Issue } from '#libs/rpc';
import { CustomFields } from '../fields/index.js';
import { type FormInput } from './petition-fields.js';
import { type PetitionForm, STANDARD_FIELDS, type StandardField } from './petition-form.js';
import { petitions } from './petitions.js';

/** Names a custom field in the API, also one whose key is the name of another field: `fields.comment`. */
const CUSTOM = 'fields.';

/** A form in the API's format: custom fields by their keys. */
export type NamedForm = {
  fields: { field: string; required: boolean }[];
  consent: PetitionForm['consent'];
};

/** Converts forms between the API, which names custom fields by their keys, and the history, which stores their ids. */
@Injectable()
export class PetitionForms implements OnModuleInit {
  constructor(
    private readonly resources: Resources,
    private readonly customFields: CustomFields,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(petitions, async (organizationId, records, past) => {
      const forms = records.map((record) => record.form as PetitionForm);
      const all = await this.named(organizationId, forms, past);
      for (const [n, record] of records.entries()) record.form = all[n];
    });
  }

  async named(organizationId: string, forms: readonly PetitionForm[], past?: Past): Promise<NamedForm[]> {
    const keys = await this.keysOf(organizationId, forms, past);
    return forms.map((form) => named(form, keys));
  }

  /**
   * @param at where the form is in the input.
   * @returns `form`: as it is stored, without unknown fields. `require` throws if there are any: an identical request that was
   *   accepted earlier may name a field that was deleted since.
   */
  async read(
    organizationId: string,
    given: FormInput,
    at = 'form.',
  ): Promise<{ form: PetitionForm; require: () => Promise<void> }> {
    const { consent } = given;
    const issues: Issue[] = [];
    const names = given.fields.map(({ field }) => (isStandard(field) ? field : keyIn(field)));
    const isCustom = !names.every(isStandard);
    const keys = isCustom ? await this.customFields.keysOf(organizationId) : new Map<string, string>();
    const ids = new Map([...keys].map(([id, key]) => [CUSTOM + key, id]));
    const fields = given.fields.flatMap(({ required }, n): PetitionForm['fields'] => {
      const path = `${at}fields.${n}.field`;
      const field = names[n]!;
      if (names.indexOf(field) < n) issues.push({ path, message: 'is in the list twice' });
      if (isStandard(field)) return [{ field, required }];
      const fieldId = ids.get(field);
      if (fieldId !== undefined) return [{ fieldId, required }];
      issues.push({
        path,
        message: `must be the key of a custom field, or one of: ${STANDARD_FIELDS.join(', ')}`,
      });
      return [];
    });
    const require = () => (issues.length > 0 ? Promise.reject(invalid(issues)) : Promise.resolve());
    const { text = null, required = false } = consent ?? {};
    return { form: { fields, consent: { text, required } }, require };
  }

  private async keysOf(
    organizationId: string,
    forms: readonly PetitionForm[],
    past?: Past,
  ): Promise<ReadonlyMap<string, string>> {
    const ids = forms.flatMap(({ fields }) => fields.flatMap((one) => ('fieldId' in one ? one.fieldId : [])));
    if (ids.length === 0) return new Map();
    return past
      ? this.customFields.keysAt(organizationId, ids, past)
      : this.customFields.keysOf(organizationId);
  }
}

function isStandard(field: string): field is StandardField {
  return (STANDARD_FIELDS as readonly string[]).includes(field);
}

/** The name of a custom field in forms. */
export function customFieldName(key: string): string {
  return isStandard(key) ? CUSTOM + key : key;
}

function keyIn(field: string): string {
  return field.startsWith(CUSTOM) ? field : CUSTOM + field;
}

/** Without custom fields that were deleted. */
function named({ fields, consent }: PetitionForm, keys: ReadonlyMap<string, string>): NamedForm {
  return {
    fields: fields.flatMap((one) => {
      if ('field' in one) return [one];
      const key = keys.get(one.fieldId);
      if (key === undefined) return [];
      return [{ field: customFieldName(key), required: one.required }];
    }),
    consent,
  };
}
