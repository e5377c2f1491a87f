// Included before each file in the preset smpi, after what smpicxx itself includes: SMPI's macros, of which C++
// programs can stand all but this one. CLI11 has a function of that name.
#pragma once

#undef exit
