const owner = {
  contactId: {
    description: 'the id of the contact that has it.',
    example: '01990a6e-1111-7000-8000-000000000001',
  },
};

export const reasons = {
  NOT_FOUND: {
    MERGED: {
      text: 'The contact was merged into another contact of the same person. error.mergedInto is its id: use that one from now on.',
      fields: {
        mergedInto: {
          description: 'the id of the contact that replaces it.',
          example: '01990a6e-1111-7000-8000-000000000001',
        },
      },
    },
  },
  CONFLICT: {
    EMAIL_TAKEN: {
      text: 'Another contact of your organization has this email address. error.contactId is its id. Update that contact, or use another address.',
      fields: owner,
    },
    EXTERNAL_ID_TAKEN: {
      text: 'Another contact of your organization has this external ID. error.contactId is its id. Update that contact, or remove the ID from it.',
      fields: owner,
    },
    IMPORT_UNFINISHED:
      'The import or update has not ended, so it cannot be undone yet. Wait for its end, or cancel it with import.cancel-import.',
    UNDO_EXPIRED:
      'The import or update ended more than 24 hours ago. Delete the contacts of an import one by one; import.get-import-rows names them.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    contacts: typeof reasons;
  }
}
