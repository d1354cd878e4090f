// SPDX-License-Identifier: Apache-2.0

// The theme is set before the first paint, so this is no module.
(() => {
  let chosen = '';
  try { chosen = localStorage.getItem('theme') || ''; } catch { /* no storage: automatic */ }
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();
