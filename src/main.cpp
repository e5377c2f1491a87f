#include "harness/application.hpp"

int main(int argc, char** argv) { return commlens::run_application(argc, argv); }
