// SPDX-License-Identifier: Apache-2.0
// The theme of VitePress with the fonts of the reader: none is in the site.
export { default } from 'vitepress/theme-without-fonts'
